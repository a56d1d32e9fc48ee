"""Resume with a plain transformer, a row of TENER's paper.

The paper: F1 93.43 on the test set. All else is as in resume.py.

    luke-jax experiment run experiments/tener/resume_transformer.py --seeds 1..5
"""

import dataclasses
from pathlib import Path

from luke_jax.training.experiment import Experiment, load_experiment

PAPER = {"table": "TENER: Resume, test", "method": "Transformer", "split": "test", "f1": 93.43}


def config() -> Experiment:
  """The experiment."""
  tener = load_experiment(Path(__file__).with_name("resume.py"))
  return dataclasses.replace(tener, model=dataclasses.replace(tener.model, encoder="transformer"))
