"""Weibo with a plain transformer, a row of TENER's paper.

The paper: F1 46.38 on the test set. All else is as in weibo.py.

    luke-jax experiment run experiments/tener/weibo_transformer.py --seeds 1..5
"""

import dataclasses
from pathlib import Path

from luke_jax.training.experiment import Experiment, load_experiment

PAPER = {"table": "TENER: Weibo, test", "method": "Transformer", "split": "test", "f1": 46.38}


def config() -> Experiment:
  """The experiment."""
  tener = load_experiment(Path(__file__).with_name("weibo.py"))
  return dataclasses.replace(tener, model=dataclasses.replace(tener.model, encoder="transformer"))
