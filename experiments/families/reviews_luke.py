"""Ratings of reviews of fine food by a LUKE that starts from MiniLM.

bash experiments/families/run.sh 1 results/families
"""

import dataclasses
from pathlib import Path

from luke_jax.convert.published import published
from luke_jax.runs.recipes import start_sizes
from luke_jax.systems.luke import LukeConfig
from luke_jax.tasks.classification.task import TextClassification
from luke_jax.training.experiment import Experiment, load_experiment

PAPER = {"table": "Reviews of fine food", "method": "LUKE from MiniLM", "split": "test"}


def config() -> Experiment:
  """The experiment of reviews_bert.py, as another system."""
  plain = load_experiment(Path(__file__).with_name("reviews_bert.py"))
  return dataclasses.replace(
    plain, model=start_sizes(TextClassification, published("english"), LukeConfig)
  )
