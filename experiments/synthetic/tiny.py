"""A tiny LUKE on made-up pages: shows and tests the engine. A minute on two CPU cores."""

import dataclasses

from luke_jax.models.table import SIZES
from luke_jax.pipeline.batches import Data
from luke_jax.tasks.synthetic import SyntheticPretraining
from luke_jax.training.experiment import Experiment, Run
from luke_jax.training.optimizer import Optimizer


def config() -> Experiment:
  """The experiment."""
  return Experiment(
    model=dataclasses.replace(SIZES["tiny"], use_entity_aware_attention=True),
    task=SyntheticPretraining(pages=2048, words=64, entities=16, mention=4),
    data=Data(batch_size=32, evaluation_batch_size=32),
    optimizer=Optimizer(learning_rate=1e-3, frozen=("luke/pooler",)),
    run=Run(
      steps=200, log_every=20, evaluate_every=100, save_every=100, best_metric="word_likelihood"
    ),
  )
