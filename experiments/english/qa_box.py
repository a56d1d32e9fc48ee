"""Answers to questions about English text, and that there is none: `english/qa`.

    luke-jax get english
    python -m data.english.make ORIGINALS
    python -m data.english.unanswerable
    luke-jax experiment run experiments/english/qa_box.py --seeds 1

The experiment of qa_bert.py with questions beside the others that their passage does not answer.
"""

import dataclasses
from pathlib import Path

from luke_jax.training.experiment import Experiment, load_experiment

PAPER = {"table": "English: qa and none", "method": "MiniLM", "split": "test"}
FOLDER = "datasets/english/qa"


def config() -> Experiment:
  """The experiment."""
  plain = load_experiment(Path(__file__).with_name("qa_bert.py"))
  task = dataclasses.replace(
    plain.task,
    train=f"{FOLDER}/all_train.json",
    dev=f"{FOLDER}/all_dev.json",
    test=f"{FOLDER}/all_test.json",
    unanswerable=True,
  )
  return dataclasses.replace(plain, task=task)
