"""TENER as one value."""

from collections.abc import Mapping
from typing import Any

from luke_jax.files import Path
from luke_jax.models.config_files import (
  architecture_in,
  config_json,
  labels_in,
  rest_of,
  sizes_from,
)
from luke_jax.models.family import Backbone, Described, Family, Layout, Recipe, TokenCounts
from luke_jax.models.fixed_fields import OF_TENER
from luke_jax.models.shapes import cast_once
from luke_jax.models.tener import encoder
from luke_jax.models.tener.characters import KERNEL
from luke_jax.models.tener.config import ARCHITECTURES, SIZES, TenerConfig
from luke_jax.models.tener.keys import KEYS
from luke_jax.text.whole_words import BIGRAMS, CHARACTERS, LONGEST_WORD
from luke_jax.text.word_vectors import VECTORS

# The authors' scripts; the rate differs by data set.
RECIPES = {
  "tagging": Recipe(
    learning_rate=7e-4,
    batch_size=16,
    lengths=4,  # sentences differ much in length, and stand alone
    epochs=100,
    optimizer={"kind": "sgd", "beta1": 0.9, "max_gradient": 5.0, "weight_decay": 0.0},
    task={"crf": True, "context": False, "scheme": "BIOES"},
    warmup_ratio=0.01,
  )
}


def _read_config(raw: dict[str, Any], path: Path) -> Described:
  labels = labels_in(raw, path)
  sizes, architecture = (
    sizes_from(TenerConfig, raw, path),
    architecture_in(raw, path, ARCHITECTURES["none"]),
  )
  return Described(sizes, architecture, labels, len(labels) or 2, rest_of(TenerConfig, raw))


def _write_config(described: Described) -> dict[str, Any]:
  return config_json(described, "tener")


def _encoder(backbone: Backbone, pooled: bool, name: str) -> encoder.TenerEncoder:
  return encoder.TenerEncoder(backbone, name=name)


def _inputs(config: TenerConfig) -> tuple[str, ...]:
  return ("input_ids", "attention_mask", CHARACTERS, BIGRAMS, VECTORS)


def _products(config: TenerConfig, counts: TokenCounts) -> Mapping[str, float]:
  """Returns forward multiplications and additions, by the weights that they are with."""
  tokens = 2.0 * counts.sequences * counts.words
  d, layers = config.hidden_size, config.num_hidden_layers
  weights, between = _layer(config.encoder, config, d, counts.words)
  weights += 2 * d * config.intermediate_size
  widths = config.word_size + config.vector_size
  widths += config.bigram_size * bool(config.bigram_vocab_size)
  products = {"tener/encoder": tokens * layers * weights, "": tokens * layers * between}
  if config.character_vocab_size:
    c = config.character_size
    widths += c
    if config.character_encoder == "cnn":
      weights, between = KERNEL * c * c, 0.0
    else:
      weights, between = _layer(config.character_encoder, config, c, LONGEST_WORD)
      weights += 4 * c * c
    products["tener/characters"] = tokens * (LONGEST_WORD * weights + c * c)
    products[""] += tokens * LONGEST_WORD * between
  products["tener/input"] = tokens * widths * d
  return products


def _layer(kind: str, config: TenerConfig, width: int, length: int) -> tuple[float, float]:
  """Returns products of a token with the weights of attention, and with the other tokens."""
  if kind == "transformer":
    return 4 * width * width, 2 * length * width
  projections = 2 + config.use_k_proj
  # Scores by distance are products of another half or two of the width.
  return projections * width * width, (3 + config.e_term) * length * width


TENER = Family(
  name="tener",
  title="TENER",
  model_types=("tener",),
  config=TenerConfig,
  sizes=SIZES,
  encoder=_encoder,
  inputs=_inputs,
  beside=encoder.beside,
  numerics=encoder.numerics,
  keys=lambda kind: KEYS,
  architectures=ARCHITECTURES,
  pooled=lambda kind: False,
  read_config=_read_config,
  write_config=_write_config,
  fixed=OF_TENER,
  products=_products,
  about=lambda config: (
    "A TENER: whole words and their characters, with attention by direction and distance\n"
    "([Yan et al., 2019](https://arxiv.org/abs/1911.04474))"
  ),
  not_in_transformers=lambda config: "transformers has no TENER",
  for_prediction=cast_once,
  # What another form of attention has and the files lack begins fresh.
  read_for=lambda config, trained: trained,
  layout=Layout(words=("tener/word/embedding",)),
  recipes=RECIPES,
)
