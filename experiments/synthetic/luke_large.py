"""LUKE-large's pretraining on made-up pages, to measure a machine: no corpus and no start.

All else is as in ../pretraining/luke_large.py but the batch, which is one GPU's.

    python -m benchmarks step experiments/synthetic/luke_large.py
"""

import dataclasses
from pathlib import Path

from luke_jax.pipeline.batches import Data
from luke_jax.tasks.synthetic import SyntheticPretraining
from luke_jax.training.experiment import Experiment, load_experiment


def config() -> Experiment:
  """The experiment."""
  real = load_experiment(Path(__file__).parents[1] / "pretraining" / "luke_large.py")
  return dataclasses.replace(
    real,
    task=SyntheticPretraining(words=512, entities=128),
    data=Data(batch_size=32, evaluation_batch_size=32, workers=8),
    run=dataclasses.replace(real.run, start=None),
  )
