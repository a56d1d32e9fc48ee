"""Matrix products of one training step, counted from the model's sizes."""

from collections.abc import Callable, Mapping
from typing import Any

from luke_jax.config import LukeConfig

# The backward pass has two products for each one of the forward pass, one of them for the gradient
# of the weights.
TRAINING = 3


def batch_sizes(rows: Mapping[str, Any], batch_size: int) -> dict[str, int]:
  """What `step_flops` asks of a batch, from the shapes of a task's row by their names.

  Rows that name masked positions are scored against the vocabularies. The heads of other tasks
  are too small to count.
  """

  def length(name: str) -> int:
    return rows[name].shape[-1] if name in rows else 0

  return {
    "sequences": batch_size,
    "words": length("input_ids"),
    "entities": length("entity_ids"),
    "masked_words": batch_size * length("masked_positions"),
    "masked_entities": batch_size * length("masked_entity_positions"),
  }


def step_flops(
  model: LukeConfig,
  *,
  sequences: int,
  words: int,
  entities: int,
  masked_words: int,
  masked_entities: int,
  frozen: Callable[[str], bool] = lambda path: False,
) -> float:
  """Multiplications and additions of a step's matrix products, forward and backward.

  `words` and `entities` are those of one sequence with its padding; the masked ones, whose
  logits are computed, those of the whole batch. Weights at paths that are `frozen` need no
  gradient. What rematerialisation computes again does not count: it is no progress.
  """
  d, k = model.hidden_size, model.entity_emb_size
  linear, attention = _layers(model, sequences, words, entities)
  products = {
    "luke/encoder": linear,
    "luke/entity_embeddings/projection": 2.0 * sequences * entities * k * d if k != d else 0.0,
    "luke/embeddings/word": 2.0 * masked_words * d * model.vocab_size,
    "luke/entity_embeddings/entity": 2.0 * masked_entities * k * model.entity_vocab_size,
    "masked_words/transform": 2.0 * masked_words * d * d,
    "masked_entities/transform": 2.0 * masked_entities * d * k,
    "page_entity": 2.0 * sequences * d * k if model.cls_entity_prediction else 0.0,
  }
  trained = sum(
    flops * (TRAINING - 1 if frozen(path) else TRAINING) for path, flops in products.items()
  )
  return trained + TRAINING * attention


def encoder_flops(model: LukeConfig, *, sequences: int, words: int, entities: int) -> float:
  """Of one forward pass through the layers; padding counts, all pairs of tokens attend."""
  return sum(_layers(model, sequences, words, entities))


def _layers(model: LukeConfig, sequences: int, words: int, entities: int) -> tuple[float, float]:
  """Of one forward pass: the products with weights, and those of tokens with each other."""
  tokens, d = words + entities, model.hidden_size
  queries = 2 if model.use_entity_aware_attention and entities else 1
  linear = tokens * d * ((queries + 3) * d + 2 * model.intermediate_size)
  attention = 2 * tokens * tokens * d
  each = 2.0 * sequences * model.num_hidden_layers
  return each * linear, each * attention


def kernel_flops(
  model: LukeConfig, *, sequences: int, words: int, entities: int, **_: int
) -> float:
  """Of the attention kernels in a step: two products forward and five backward.

  The backward kernel computes the scores again; under full rematerialisation the forward kernel
  runs twice.
  """
  if model.attention != "pallas":
    return 0.0
  tokens = words + entities
  products = 9 if model.remat == "full" else 7
  return 2.0 * products * model.num_hidden_layers * sequences * tokens * tokens * model.hidden_size
