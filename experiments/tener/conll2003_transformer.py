"""CoNLL-2003 with a plain transformer, a row of TENER's paper.

The paper: F1 89.57 on the test set. All else is as in conll2003.py.

    luke-jax experiment run experiments/tener/conll2003_transformer.py --seeds 1..5
"""

import dataclasses
from pathlib import Path

from luke_jax.training.experiment import Experiment, load_experiment

PAPER = {"table": "TENER: CoNLL-2003, test", "method": "Transformer", "split": "test", "f1": 89.57}


def config() -> Experiment:
  """The experiment."""
  tener = load_experiment(Path(__file__).with_name("conll2003.py"))
  return dataclasses.replace(tener, model=dataclasses.replace(tener.model, encoder="transformer"))
