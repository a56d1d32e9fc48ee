"""LUKE-large's pretraining, first stage: what belongs to entities trains, the rest stays RoBERTa's.

The paper: peak learning rate 5e-4, 98,168 steps. All else is as in luke_large.py.

    hf download FacebookAI/roberta-large --local-dir roberta-large
    luke-jax train experiments/pretraining/luke_large_stage1.py --output runs/luke-large-stage1

Hardware: v5e:16x16, where `luke-jax plan` says 2.9 GiB a chip, 59 ms of computation a step and 1.6
to 2.0 hours.
"""

import dataclasses
from pathlib import Path

from luke_jax.systems.luke import NOT_OF_ENTITIES
from luke_jax.training.experiment import Experiment, load_experiment


def config() -> Experiment:
  """The experiment."""
  second = load_experiment(Path(__file__).with_name("luke_large.py"))
  optimizer = dataclasses.replace(second.optimizer, learning_rate=5e-4, frozen=NOT_OF_ENTITIES)
  run = dataclasses.replace(second.run, start="roberta-large")
  return dataclasses.replace(second, optimizer=optimizer, run=run)
