"""Resume with scaled attention, a row of TENER's paper.

The paper: F1 94.0 on the test set. All else is as in resume.py.

    luke-jax experiment run experiments/tener/resume_with_scale.py --seeds 1..5
"""

import dataclasses
from pathlib import Path

from luke_jax.training.experiment import Experiment, load_experiment

PAPER = {"table": "TENER: Resume, test", "method": "TENER with scale", "split": "test", "f1": 94.0}


def config() -> Experiment:
  """The experiment."""
  tener = load_experiment(Path(__file__).with_name("resume.py"))
  return dataclasses.replace(tener, model=dataclasses.replace(tener.model, scale=True))
