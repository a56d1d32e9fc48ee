"""First stage of pretraining an ERNIE of Baidu: masks of single characters.

The paper does not say how long a stage is; here each has 100,000 steps, with its own warm-up. All
else is as in pretraining.py.

    luke-jax train experiments/ernie_baidu/pretraining_characters.py --output runs/ernie-characters
    luke-jax export runs/ernie-characters ernie-characters
"""

import dataclasses
from pathlib import Path

from luke_jax.training.experiment import Experiment, load_experiment


def config() -> Experiment:
  """The experiment."""
  whole = load_experiment(Path(__file__).with_name("pretraining.py"))
  task = dataclasses.replace(
    whole.task, mask_mode="mixture", unit_shares=(), mixture=(1.0, 0.0, 0.0)
  )
  run = dataclasses.replace(whole.run, steps=100_000)
  return dataclasses.replace(whole, task=task, run=run)
