"""MSRA with scaled attention, a row of TENER's paper.

The paper: F1 91.67 on the test set. All else is as in msra.py.

    luke-jax experiment run experiments/tener/msra_with_scale.py --seeds 1..5
"""

import dataclasses
from pathlib import Path

from luke_jax.training.experiment import Experiment, load_experiment

PAPER = {"table": "TENER: MSRA, test", "method": "TENER with scale", "split": "test", "f1": 91.67}


def config() -> Experiment:
  """The experiment."""
  tener = load_experiment(Path(__file__).with_name("msra.py"))
  return dataclasses.replace(tener, model=dataclasses.replace(tener.model, scale=True))
