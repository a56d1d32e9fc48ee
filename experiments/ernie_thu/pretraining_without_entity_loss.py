"""The ablation of pretraining that predicts no entities, a row of the paper: "w/o dEA".

All else is as in pretraining.py, and few_rel_without_entity_loss.py fine-tunes what it makes:

    luke-jax train experiments/ernie_thu/pretraining_without_entity_loss.py \\
      --output runs/ernie-thu-without-entity-loss
    luke-jax export runs/ernie-thu-without-entity-loss ernie-thu-without-entity-loss
"""

import dataclasses
from pathlib import Path

from luke_jax.training.experiment import Experiment, load_experiment


def config() -> Experiment:
  """The experiment."""
  whole = load_experiment(Path(__file__).with_name("pretraining.py"))
  task = dataclasses.replace(whole.task, predict_entities=False)
  return dataclasses.replace(whole, task=task)
