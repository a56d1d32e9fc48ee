"""mLUKE-base's pretraining, first stage: what belongs to entities trains, the rest stays XLM-R's.

The released model's: peak learning rate 5e-4, 540,326 steps. All else is as in mluke_base.py.

    hf download FacebookAI/xlm-roberta-base --local-dir xlm-roberta-base
    luke-jax train experiments/pretraining/mluke_base_stage1.py --output runs/mluke-base-stage1

Hardware: v5e:16x16, where `luke-jax plan` says 3.5 GiB a chip, 33 ms of computation a step and 5.0
to 6.1 hours.
"""

import dataclasses
from pathlib import Path

from luke_jax.systems.luke import NOT_OF_ENTITIES
from luke_jax.training.experiment import Experiment, load_experiment


def config() -> Experiment:
  """The experiment."""
  second = load_experiment(Path(__file__).with_name("mluke_base.py"))
  optimizer = dataclasses.replace(second.optimizer, learning_rate=5e-4, frozen=NOT_OF_ENTITIES)
  run = dataclasses.replace(second.run, start="xlm-roberta-base")
  return dataclasses.replace(second, optimizer=optimizer, run=run)
