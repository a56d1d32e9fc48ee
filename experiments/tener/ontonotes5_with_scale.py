"""OntoNotes 5 with scaled attention, a row of TENER's paper.

The paper: F1 87.94 on the test set. All else is as in ontonotes5.py.

    luke-jax experiment run experiments/tener/ontonotes5_with_scale.py --seeds 1..5
"""

import dataclasses
from pathlib import Path

from luke_jax.training.experiment import Experiment, load_experiment

PAPER = {
  "table": "TENER: OntoNotes 5, test",
  "method": "TENER with scale",
  "split": "test",
  "f1": 87.94,
}


def config() -> Experiment:
  """The experiment."""
  tener = load_experiment(Path(__file__).with_name("ontonotes5.py"))
  return dataclasses.replace(tener, model=dataclasses.replace(tener.model, scale=True))
