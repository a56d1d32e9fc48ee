"""LUKE-base's pretraining, first stage: what belongs to entities trains, the rest stays RoBERTa's.

The paper: peak learning rate 5e-4, 98,168 steps. All else is as in luke_base.py.

    hf download FacebookAI/roberta-base --local-dir roberta-base
    luke-jax train experiments/pretraining/luke_base_stage1.py --output runs/luke-base-stage1

Hardware: v5e:2x4 or more, where `luke-jax plan` says 4.8 GiB a chip, 631 ms of computation a step
and 17.2 to 17.6 hours.
"""

import dataclasses
from pathlib import Path

from luke_jax.systems.luke import NOT_OF_ENTITIES
from luke_jax.training.experiment import Experiment, load_experiment


def config() -> Experiment:
  """The experiment."""
  second = load_experiment(Path(__file__).with_name("luke_base.py"))
  optimizer = dataclasses.replace(second.optimizer, learning_rate=5e-4, frozen=NOT_OF_ENTITIES)
  run = dataclasses.replace(second.run, start="roberta-base")
  return dataclasses.replace(second, optimizer=optimizer, run=run)
