"""Relations of names in English text, by adapters over MiniLM as a LUKE: `[MASK]` over each name.

    luke-jax get english
    python -m data.english.make ORIGINALS
    luke-jax experiment run experiments/english/relations_luke.py --seeds 1..3

data/english/README.md says what ORIGINALS holds.
"""

import dataclasses
from pathlib import Path

from luke_jax.convert.published import published
from luke_jax.runs.recipes import start_sizes
from luke_jax.systems.luke import LukeConfig
from luke_jax.tasks.relations.task import RelationClassification
from luke_jax.training.experiment import Experiment, load_experiment

PAPER = {"table": "English: relations", "method": "MiniLM as LUKE", "split": "test"}


def config() -> Experiment:
  """The experiment of relations_bert.py, with entities."""
  plain = load_experiment(Path(__file__).with_name("relations_bert.py"))
  return dataclasses.replace(
    plain, model=start_sizes(RelationClassification, published("english"), LukeConfig)
  )
