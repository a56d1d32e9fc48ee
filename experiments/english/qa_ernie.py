"""Answers to questions about English text by an ERNIE of Tsinghua from MiniLM, no names linked.

bash experiments/families/run.sh 1 results/families
"""

import dataclasses
from pathlib import Path

from luke_jax.convert.published import published
from luke_jax.runs.recipes import start_sizes
from luke_jax.systems.ernie_thu import ErnieThuConfig
from luke_jax.tasks.qa.task import QuestionAnswering
from luke_jax.training.experiment import Experiment, load_experiment

PAPER = {"table": "English: qa", "method": "ERNIE of Tsinghua from MiniLM", "split": "test"}


def config() -> Experiment:
  """The experiment of qa_bert.py, as another system."""
  plain = load_experiment(Path(__file__).with_name("qa_bert.py"))
  return dataclasses.replace(
    plain, model=start_sizes(QuestionAnswering, published("english"), ErnieThuConfig)
  )
