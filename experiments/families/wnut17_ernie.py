"""Names of WNUT-17 by tags for the words of an ERNIE of Tsinghua that starts from MiniLM.

bash experiments/families/run.sh 1 results/families
"""

import dataclasses
from pathlib import Path

from luke_jax.convert.published import published
from luke_jax.runs.recipes import start_sizes
from luke_jax.systems.ernie_thu import ErnieThuConfig
from luke_jax.tasks.tagging.task import Tagging
from luke_jax.training.experiment import Experiment, load_experiment

PAPER = {"table": "TENER: WNUT-17", "method": "ERNIE of Tsinghua from MiniLM", "split": "test"}


def config() -> Experiment:
  """The experiment of wnut17_bert.py, as another system."""
  plain = load_experiment(Path(__file__).with_name("wnut17_bert.py"))
  return dataclasses.replace(
    plain, model=start_sizes(Tagging, published("english"), ErnieThuConfig)
  )
