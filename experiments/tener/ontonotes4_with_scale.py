"""OntoNotes 4 in Chinese with scaled attention, a row of TENER's paper.

The paper: F1 71.72 on the test set. All else is as in ontonotes4.py.

    luke-jax experiment run experiments/tener/ontonotes4_with_scale.py --seeds 1..5
"""

import dataclasses
from pathlib import Path

from luke_jax.training.experiment import Experiment, load_experiment

PAPER = {
  "table": "TENER: OntoNotes 4 in Chinese, test",
  "method": "TENER with scale",
  "split": "test",
  "f1": 71.72,
}


def config() -> Experiment:
  """The experiment."""
  tener = load_experiment(Path(__file__).with_name("ontonotes4.py"))
  return dataclasses.replace(tener, model=dataclasses.replace(tener.model, scale=True))
