"""Types of names in English text, by adapters over MiniLM as a LUKE: `[MASK]` over each name.

    luke-jax get english
    python -m data.english.make ORIGINALS
    luke-jax experiment run experiments/english/typing_luke.py --seeds 1..3

data/english/README.md says what ORIGINALS holds.
"""

import dataclasses
from pathlib import Path

from luke_jax.convert.published import published
from luke_jax.runs.recipes import start_sizes
from luke_jax.systems.luke import LukeConfig
from luke_jax.tasks.typing.task import EntityTyping
from luke_jax.training.experiment import Experiment, load_experiment

PAPER = {"table": "English: typing", "method": "MiniLM as LUKE", "split": "test"}


def config() -> Experiment:
  """The experiment of typing_bert.py, with entities."""
  plain = load_experiment(Path(__file__).with_name("typing_bert.py"))
  return dataclasses.replace(
    plain, model=start_sizes(EntityTyping, published("english"), LukeConfig)
  )
