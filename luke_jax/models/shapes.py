"""Numbers that systems of BERT's shape have in common, from configs with Hugging Face's names."""

import math
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp

from luke_jax.models.system import Running, System, TokenCounts
from luke_jax.nn.embeddings import WordEmbeddings
from luke_jax.nn.encoder import split_layers
from luke_jax.nn.layers import Dtype, Numerics
from luke_jax.nn.queries import AttentionSizes

PRODUCTS = ("kernel", "embedding")  # parameters that layers cast to the type of products


def attention_sizes(config: Any, running: Running, kinds: int = 1) -> AttentionSizes:
  """Returns the sizes of a config's attention."""
  return AttentionSizes(
    heads=config.num_attention_heads,
    head_size=config.hidden_size // config.num_attention_heads,
    kinds=kinds,
    dropout=config.attention_probs_dropout_prob,
    form=running.attention,
  )


def word_embeddings(
  config: Any, numerics: Numerics, *, after_padding: bool = False, width: int | None = None
) -> WordEmbeddings:
  """Returns the embeddings of words; with `after_padding`, positions count as in RoBERTa.

  `width` is that of the tables, where the layers have another one.
  """
  wide = config.hidden_size
  return WordEmbeddings(
    numerics,
    words=config.vocab_size,
    width=width or wide,
    output=None if width in (None, wide) else wide,
    positions=config.max_position_embeddings,
    types=config.type_vocab_size,
    pad_id=config.pad_token_id,
    positions_after_padding=after_padding,
  )


def for_prediction(params: dict, dtype: Dtype) -> dict:
  """Returns parameters whose weights are cast once; on CPUs with those of each layer apart."""
  cast = cast_once(params, dtype)
  if jax.default_backend() != "cpu":
    return cast
  return cast | {"encoder": split_layers(cast["encoder"])}


def cast_once(params: dict, dtype: Dtype) -> dict:
  """Returns parameters whose weights are of the type of products."""
  return jax.tree_util.tree_map_with_path(lambda path, x: _cast(path, x, dtype), params)


def _cast(path: tuple, x: jax.Array, dtype: Dtype) -> jax.Array:
  return x.astype(jnp.dtype(dtype), copy=False) if path[-1].key in PRODUCTS else x


def word_products(
  prefix: str, config: System, counts: TokenCounts, width: int | None = None
) -> Mapping[str, float]:
  """Returns forward multiplications and additions of the layers and of the decoder of words.

  `width` is that of the table of words, where the layers have another one.
  """
  d, tokens = config.hidden_size, counts.words
  e = width or d
  linear = tokens * d * (4 * d + 2 * config.feed_forward_width)
  attention = 2 * tokens * tokens * d
  each = 2.0 * counts.sequences * config.num_hidden_layers
  project = {f"{prefix}/embeddings/project": 2.0 * counts.sequences * tokens * e * d}
  return {
    **(project if e != d else {}),
    f"{prefix}/encoder": each * linear,
    "": each * attention,
    f"{prefix}/embeddings/word": 2.0 * counts.masked_words * e * config.vocab_size,
    "masked_words/transform": 2.0 * counts.masked_words * d * e,
  }


def traced_products(jaxpr: Any) -> float:
  """Returns the multiplications and additions of all matrix products of a program."""
  total = 0.0
  for equation in jaxpr.eqns:
    if equation.primitive.name == "dot_general":
      (contracted, _), _ = equation.params["dimension_numbers"]
      shape = equation.invars[0].aval.shape
      total += 2 * equation.outvars[0].aval.size * math.prod(shape[axis] for axis in contracted)
    times = equation.params.get("length", 1) if equation.primitive.name == "scan" else 1
    for inner in jax.tree.leaves(equation.params, is_leaf=lambda x: hasattr(x, "eqns")):
      if hasattr(inner, "eqns"):
        total += times * traced_products(getattr(inner, "jaxpr", inner))
  return total
