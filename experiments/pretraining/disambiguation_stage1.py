"""Pretraining for linking, first stage: what belongs to entities trains, the rest stays BERT's.

Yamada et al. (2022): peak learning rate 5e-4, 4,866 steps (an epoch). All else is as in
disambiguation.py.

    hf download google-bert/bert-base-uncased --local-dir bert-base-uncased
    luke-jax train experiments/pretraining/disambiguation_stage1.py --output runs/linking-stage1
"""

import dataclasses
from pathlib import Path

from luke_jax.systems.luke import NOT_OF_ENTITIES
from luke_jax.training.experiment import Experiment, load_experiment


def config() -> Experiment:
  """The experiment."""
  second = load_experiment(Path(__file__).with_name("disambiguation.py"))
  optimizer = dataclasses.replace(second.optimizer, learning_rate=5e-4, frozen=NOT_OF_ENTITIES)
  run = dataclasses.replace(second.run, start="bert-base-uncased", steps=4_866)
  return dataclasses.replace(second, optimizer=optimizer, run=run)
