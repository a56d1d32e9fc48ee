"""Topics of Chinese sentences, SIB-200, with a tiny ERNIE of Baidu.

The files are train.tsv and dev.tsv in sib200_zho_Hans, without a test set; tiny-ernie is what
pretraining.py made. Not a row of a paper; results.md has what was measured.

    luke-jax experiment run experiments/tiny_ernie/topics.py --seeds 1..3
"""

import dataclasses
from pathlib import Path

from luke_jax.tasks.classification.task import TextClassification
from luke_jax.training.experiment import Experiment, load_experiment

PAPER = {"table": "Tiny ERNIE: SIB-200 Chinese, dev", "method": "tiny ERNIE", "split": "dev"}
LABELS = (
  "entertainment",
  "geography",
  "health",
  "politics",
  "science/technology",
  "sports",
  "travel",
)


def config() -> Experiment:
  """The experiment."""
  names = load_experiment(Path(__file__).with_name("ner.py"))
  task = TextClassification(
    train="sib200_zho_Hans/train.tsv",
    dev="sib200_zho_Hans/dev.tsv",
    text="tiny-ernie",
    labels=LABELS,
    words=136,
    columns=("text=text", "label=category"),
  )
  run = dataclasses.replace(names.run, epochs=20, evaluate_every=100, best_metric="accuracy")
  # Four layers by batches of 16 at 1e-3 learned no topic, from random parameters either.
  optimizer = dataclasses.replace(names.optimizer, learning_rate=3e-4)
  return dataclasses.replace(names, task=task, optimizer=optimizer, run=run)
