"""Answers to questions about English text by a LUKE that starts from MiniLM.

    luke-jax get english
    python -m data.english.make ORIGINALS
    python -m data.english.named
    luke-jax experiment run experiments/english/qa_luke.py --seeds 1..3

Entities are the names that english/ner finds, each a `[MASK]` over its words.
"""

import dataclasses
from pathlib import Path

from luke_jax.convert.published import published
from luke_jax.runs.recipes import start_sizes
from luke_jax.systems.luke import LukeConfig
from luke_jax.tasks.qa.task import QuestionAnswering
from luke_jax.training.experiment import Experiment, load_experiment

PAPER = {"table": "English: qa", "method": "MiniLM as LUKE", "split": "test"}
NAMED = {split: f"datasets/english/qa/named_{split}.jsonl" for split in ("train", "test")}


def config() -> Experiment:
  """The experiment of qa_bert.py, as another system."""
  plain = load_experiment(Path(__file__).with_name("qa_bert.py"))
  return dataclasses.replace(
    plain,
    model=start_sizes(QuestionAnswering, published("english"), LukeConfig),
    task=dataclasses.replace(plain.task, **NAMED, dev=NAMED["test"], entities=48),
  )
