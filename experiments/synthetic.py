"""Pretraining on made-up pages, to show, test and measure the engine: no corpus and no start.

luke-jax train experiments/synthetic.py:tiny --output runs/tiny
python -m benchmarks step experiments/synthetic.py:luke-large
"""

import dataclasses
from pathlib import Path

from luke_jax.models.table import SIZES
from luke_jax.pipeline.batches import Data
from luke_jax.tasks.synthetic import SyntheticPretraining
from luke_jax.training.experiment import Experiment, Run
from luke_jax.training.experiment_files import load_experiment
from luke_jax.training.optimizer import Optimizer
from luke_jax.training.overrides import row


def tiny() -> Experiment:
  """Returns a tiny LUKE, a minute on two CPU cores."""
  return Experiment(
    model=dataclasses.replace(SIZES["tiny"], use_entity_aware_attention=True),
    task=SyntheticPretraining(pages=2048, words=64, entities=16, mention=4),
    data=Data(batch_size=32, evaluation_batch_size=32),
    optimizer=Optimizer(learning_rate=1e-3, frozen=("luke/pooler",)),
    run=Run(
      steps=200, log_every=20, evaluate_every=100, save_every=100, best_metric="word_likelihood"
    ),
  )


def luke_large() -> Experiment:
  """Returns LUKE-large's pretraining with a batch for one GPU."""
  real = load_experiment(Path(__file__).with_name("pretraining.py:luke-large"))
  return dataclasses.replace(
    real,
    task=SyntheticPretraining(words=512, entities=128),
    data=Data(batch_size=32, evaluation_batch_size=32, workers=8),
    run=dataclasses.replace(real.run, start=None),
  )


ROWS = {"tiny": row(tiny), "luke-large": row(luke_large)}
