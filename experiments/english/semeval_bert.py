"""Relations of SemEval-2010 Task 8, by adapters over MiniLM: states of the markers' words.

    luke-jax get english
    python -m data.english.make ORIGINALS
    luke-jax experiment run experiments/english/semeval_bert.py --seeds 1..3

data/english/README.md says what ORIGINALS holds. The score is the official macro F1.
"""

import dataclasses
from pathlib import Path

from luke_jax.training.experiment import Experiment, load_experiment

RELATIONS = (
  "Cause-Effect",
  "Component-Whole",
  "Content-Container",
  "Entity-Destination",
  "Entity-Origin",
  "Instrument-Agency",
  "Member-Collection",
  "Message-Topic",
  "Product-Producer",
)
LABELS = ("Other", *(f"{x}({way})" for x in RELATIONS for way in ("e1,e2", "e2,e1")))
PAPER = {"table": "English: semeval", "method": "MiniLM", "split": "test"}
FILES = "datasets/english/semeval"


def config() -> Experiment:
  """The experiment of relations_bert.py, on SemEval's sentences."""
  plain = load_experiment(Path(__file__).with_name("relations_bert.py"))
  files = {split: f"{FILES}/{split}.jsonl" for split in ("train", "dev", "test")}
  task = dataclasses.replace(plain.task, **files, labels=LABELS)
  run = dataclasses.replace(plain.run, epochs=5)
  return dataclasses.replace(plain, task=task, run=run)
