"""Ratings of reviews of fine food by an MA-BERT on MiniLM: who wrote a text, and about what.

bash experiments/families/run.sh 1 results/families
"""

import dataclasses
from pathlib import Path

from luke_jax.heads.attributes import Attributes
from luke_jax.training.experiment import Experiment, load_experiment

PAPER = {"table": "Reviews of fine food", "method": "MA-BERT on MiniLM", "split": "test"}


def config() -> Experiment:
  """The experiment of reviews_bert.py, with the user and the product of a review."""
  plain = load_experiment(Path(__file__).with_name("reviews_bert.py"))
  attributes = Attributes(("user", "product"), layers=2)
  return dataclasses.replace(plain, task=dataclasses.replace(plain.task, attributes=attributes))
