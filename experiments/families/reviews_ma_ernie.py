"""Ratings of reviews of fine food by an MA-BERT on an ERNIE of Tsinghua that starts from MiniLM.

bash experiments/families/run.sh 1 results/families
"""

import dataclasses
from pathlib import Path

from luke_jax.training.experiment import Experiment, load_experiment

PAPER = {"table": "Reviews of fine food", "method": "MA-BERT on ERNIE of Tsinghua", "split": "test"}


def config() -> Experiment:
  """The experiment of reviews_ma_bert.py, on the system of reviews_ernie.py."""
  with_attributes, plain = (
    load_experiment(Path(__file__).with_name(f"reviews_{name}.py")) for name in ("ma_bert", "ernie")
  )
  return dataclasses.replace(with_attributes, model=plain.model)
