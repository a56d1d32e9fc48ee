"""Matrix products of one training step, counted from the model's sizes."""

from collections.abc import Callable, Mapping
from typing import Any

from luke_jax.models.system import Backbone, TokenCounts
from luke_jax.training.experiment import Experiment
from luke_jax.training.optimizer import is_frozen

# The backward pass has two products for each one of the forward pass, one of them for the gradient
# of the weights.
TRAINING = 3


def token_counts(rows: Mapping[str, Any], batch_size: int) -> TokenCounts:
  """Returns the tokens of a batch, from the shapes of a task's row by their names.

  Rows that name masked positions are scored against the vocabularies. The heads of other tasks
  are too small to count.
  """

  def length(name: str) -> int:
    return rows[name].shape[-1] if name in rows else 0

  return TokenCounts(
    sequences=batch_size,
    words=length("input_ids"),
    entities=length("entity_ids"),
    masked_words=batch_size * length("masked_positions"),
    masked_entities=batch_size * length("masked_entity_positions"),
  )


def flops_of(experiment: Experiment) -> float:
  """Returns the multiplications and additions of a step's products."""
  backbone, options = experiment.backbone, experiment.optimizer
  counts = token_counts(experiment.engine.row_shapes(backbone), experiment.data.batch_size)
  encoder = f"{backbone.config.name}/encoder"

  def frozen(path: str) -> bool:
    return is_frozen(path, options.frozen) or (options.adapter > 0 and path == encoder)

  return step_flops(backbone, counts, frozen)


def step_flops(
  backbone: Backbone, counts: TokenCounts, frozen: Callable[[str], bool] = lambda path: False
) -> float:
  """Returns the multiplications and additions of a step's matrix products, forward and backward.

  Weights at paths that are `frozen` need no gradient. What rematerialisation computes again does
  not count: it is no progress.
  """
  products = backbone.config.products(counts)
  return sum(
    flops * (TRAINING - 1 if path and frozen(path) else TRAINING)
    for path, flops in products.items()
  )


def encoder_flops(backbone: Backbone, *, sequences: int, words: int, entities: int) -> float:
  """Returns the operations of a forward pass; padding counts, all pairs of tokens attend."""
  counts = TokenCounts(sequences, words, entities)
  products = backbone.config.products(counts)
  return products[""] + products[f"{backbone.config.name}/encoder"]


def kernel_flops(backbone: Backbone, counts: TokenCounts) -> float:
  """Returns the operations of attention kernels in a step: two products forward, five backward.

  The backward kernel computes the scores again; under full rematerialisation the forward kernel
  runs twice.
  """
  running, config = backbone.running, backbone.config
  if running.attention != "pallas":
    return 0.0
  tokens = counts.words + counts.entities
  products = 9 if running.remat == "full" else 7
  layers = config.num_hidden_layers * counts.sequences
  return 2.0 * products * layers * tokens * tokens * config.hidden_size
