"""mLUKE-large's pretraining, first stage: what belongs to entities trains, the rest stays XLM-R's.

The released model's: peak learning rate 5e-4, 540,326 steps. All else is as in mluke_large.py.

    hf download FacebookAI/xlm-roberta-large --local-dir xlm-roberta-large
    luke-jax train experiments/pretraining/mluke_large_stage1.py --output runs/mluke-large-stage1

Hardware: v5e:16x16, where `luke-jax plan` says 5.0 GiB a chip, 70 ms of computation a step and 10.6
to 13.2 hours.
"""

import dataclasses
from pathlib import Path

from luke_jax.systems.luke import NOT_OF_ENTITIES
from luke_jax.training.experiment import Experiment, load_experiment


def config() -> Experiment:
  """The experiment."""
  second = load_experiment(Path(__file__).with_name("mluke_large.py"))
  optimizer = dataclasses.replace(second.optimizer, learning_rate=5e-4, frozen=NOT_OF_ENTITIES)
  run = dataclasses.replace(second.run, start="xlm-roberta-large")
  return dataclasses.replace(second, optimizer=optimizer, run=run)
