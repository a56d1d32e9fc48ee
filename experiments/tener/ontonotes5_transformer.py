"""OntoNotes 5 with a plain transformer, a row of TENER's paper.

The paper: F1 86.73 on the test set. All else is as in ontonotes5.py.

    luke-jax experiment run experiments/tener/ontonotes5_transformer.py --seeds 1..5
"""

import dataclasses
from pathlib import Path

from luke_jax.training.experiment import Experiment, load_experiment

PAPER = {"table": "TENER: OntoNotes 5, test", "method": "Transformer", "split": "test", "f1": 86.73}


def config() -> Experiment:
  """The experiment."""
  tener = load_experiment(Path(__file__).with_name("ontonotes5.py"))
  return dataclasses.replace(tener, model=dataclasses.replace(tener.model, encoder="transformer"))
