"""All of LUKE's forward pass (Yamada et al., EMNLP 2020) in one file of plain JAX.

    # a directory, a text, and the characters of an entity in it
    python experiments/luke_in_one_file.py data/sample_model "Tamsin sang in Arkessa." 15 22

What makes a LUKE, each in the function that it names:

- words are embedded as in RoBERTa: word + position + type, positions counted after padding (words)
- entities have a vocabulary of their own, in narrow vectors that are widened by one product; an
  entity's position is the mean of those of the words of its mention, and it has a type (entities)
- words and entities go through one transformer, side by side (luke)
- a token asks words and entities with queries of its own kind: four query matrices for word to
  word, word to entity, entity to word and entity to entity; keys and values are shared (attention)
- feed-forward layers with the exact GELU, and norms after each residual sum (layer, norm)
- padding is masked in what is asked, among words and entities alike (attention)

Letters: B texts, W words, E entities, T = W + E tokens, M positions of a mention, D width of the
model, K width of an entity's vector, N heads, H width of a head. Tensors are named as in
transformers. Dropout, heads, losses and speed are not here: luke_jax/nn has these as modules.
"""

import json
import sys
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
from safetensors.numpy import load_file

from luke_jax.text import load_processor


class Weights(NamedTuple):
  """Tensors by name, below a prefix: `weights["dense.weight"]` is that of `prefix + name`."""

  tensors: dict
  prefix: str = ""

  def __getitem__(self, name: str) -> jax.Array:
    """Returns a tensor."""
    return jnp.asarray(self.tensors[self.prefix + name])

  def __truediv__(self, name: str) -> "Weights":
    """Returns the tensors of a part."""
    return Weights(self.tensors, f"{self.prefix}{name}.")


class Inputs(NamedTuple):
  """Ids of texts with entities, named as in transformers."""

  input_ids: jax.Array  # (B, W)
  attention_mask: jax.Array  # (B, W), 0 for padding
  entity_ids: jax.Array  # (B, E)
  entity_attention_mask: jax.Array  # (B, E)
  entity_position_ids: jax.Array  # (B, E, M), -1 for padding


def dense(w: Weights, x: jax.Array) -> jax.Array:
  """Returns x Aᵀ + b; PyTorch has the outputs of a matrix first."""
  return x @ w["weight"].T + w["bias"]


def norm(w: Weights, x: jax.Array, epsilon: float) -> jax.Array:
  """Returns each vector with mean 0 and variance 1, then scaled and moved."""
  x = x - x.mean(-1, keepdims=True)
  return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + epsilon) * w["weight"] + w["bias"]


def words(w: Weights, config: dict, ids: jax.Array) -> jax.Array:
  """Returns the embeddings of words (B, W, D)."""
  real = ids != config["pad_token_id"]
  positions = jnp.cumsum(real, axis=1) * real + config["pad_token_id"]
  x = w["word_embeddings.weight"][ids] + w["position_embeddings.weight"][positions]
  return norm(w / "LayerNorm", x + w["token_type_embeddings.weight"][0], config["layer_norm_eps"])


def entities(w: Weights, config: dict, ids: jax.Array, positions: jax.Array) -> jax.Array:
  """Returns the embeddings of entities (B, E, D)."""
  x = w["entity_embeddings.weight"][ids]  # (B, E, K)
  if config["entity_emb_size"] != config["hidden_size"]:
    x = x @ w["entity_embedding_dense.weight"].T
  real = (positions >= 0)[..., None]
  rows = w["position_embeddings.weight"][positions] * real  # (B, E, M, D)
  x = x + rows.sum(-2) / jnp.maximum(real.sum(-2), 1) + w["token_type_embeddings.weight"][0]
  return norm(w / "LayerNorm", x, config["layer_norm_eps"])


def attention(w: Weights, config: dict, x: jax.Array, number: int, mask: jax.Array) -> jax.Array:
  """Returns what each token reads of all (B, T, D); the first `number` of them are words."""
  aware = config["use_entity_aware_attention"]

  def heads(name: str, x: jax.Array) -> jax.Array:  # (B, T, N, H)
    return dense(w / name, x).reshape(*x.shape[:2], config["num_attention_heads"], -1)

  def queries(of_words: str, of_entities: str) -> jax.Array:
    if not aware:
      return heads("query", x)
    asked = heads(of_words, x[:, :number]), heads(of_entities, x[:, number:])
    return jnp.concatenate(asked, axis=1)

  keys, values = heads("key", x), heads("value", x)
  of_words = jnp.einsum("bqnh,bknh->bnqk", queries("query", "e2w_query"), keys[:, :number])
  of_entities = jnp.einsum("bqnh,bknh->bnqk", queries("w2e_query", "e2e_query"), keys[:, number:])
  scores = jnp.concatenate([of_words, of_entities], axis=-1) / keys.shape[-1] ** 0.5
  scores = jnp.where(mask[:, None, None], scores, jnp.finfo(scores.dtype).min)
  return jnp.einsum("bnqk,bknh->bqnh", jax.nn.softmax(scores), values).reshape(x.shape)


def layer(w: Weights, config: dict, x: jax.Array, number: int, mask: jax.Array) -> jax.Array:
  """Returns the states after a layer (B, T, D)."""
  epsilon = config["layer_norm_eps"]
  read = attention(w / "attention.self", config, x, number, mask)
  x = norm(w / "attention.output.LayerNorm", x + dense(w / "attention.output.dense", read), epsilon)
  between = jax.nn.gelu(dense(w / "intermediate.dense", x), approximate=False)
  return norm(w / "output.LayerNorm", x + dense(w / "output.dense", between), epsilon)


def luke(w: Weights, config: dict, inputs: Inputs) -> tuple[jax.Array, jax.Array]:
  """Returns the states of words (B, W, D) and of entities (B, E, D) in context."""
  number = inputs.input_ids.shape[1]
  of_entities = inputs.entity_ids, inputs.entity_position_ids
  x = words(w / "embeddings", config, inputs.input_ids)
  x = jnp.concatenate([x, entities(w / "entity_embeddings", config, *of_entities)], axis=1)
  mask = jnp.concatenate([inputs.attention_mask, inputs.entity_attention_mask], axis=1) > 0
  for i in range(config["num_hidden_layers"]):
    x = layer(w / f"encoder.layer.{i}", config, x, number, mask)
  return x[:, :number], x[:, number:]


def read(directory: Path) -> tuple[Weights, dict]:
  """Returns the weights of the encoder and the config of a model directory."""
  config = json.loads((directory / "config.json").read_text(encoding="utf-8"))
  if config["model_type"] != "luke" or config["hidden_act"] != "gelu":
    raise ValueError(f"{directory}: {config['model_type']}; expected a LUKE with GELU")
  tensors = load_file(directory / "model.safetensors")
  return Weights({name.removeprefix("luke."): x for name, x in tensors.items()}), config


def main(directory: str, text: str, start: str, end: str) -> None:
  """Prints the states of a text with an entity, from one character to another."""
  processor = load_processor(directory)
  row = processor(text, entity_spans=[(int(start), int(end))])
  states = luke(*read(Path(directory)), Inputs(**{name: row[name] for name in Inputs._fields}))
  for name, x in zip(("words", "entities"), states, strict=True):
    print(name, x.shape, x[0, 0, :4])


if __name__ == "__main__":
  main(*sys.argv[1:])
