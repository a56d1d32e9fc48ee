"""Named entities in CoNLL-2003 with RoBERTa-large: no entities (Table 3 of the paper).

The head reads the first and the last word of a span.

The paper: F1 92.4 on the test set.
All else is as in luke_large.py.

    hf download FacebookAI/roberta-large --local-dir roberta-large
    luke-jax experiment run experiments/ner/roberta_large.py --seeds 1..5
"""

import dataclasses
from pathlib import Path

from luke_jax.models.table import SIZES
from luke_jax.training.experiment import Experiment, load_experiment

PAPER = {
  "table": "Table 3: CoNLL-2003, test",
  "method": "RoBERTa-large",
  "split": "test",
  "f1": 92.4,
}


def config() -> Experiment:
  """The experiment."""
  large = load_experiment(Path(__file__).with_name("luke_large.py"))
  task = dataclasses.replace(large.task, text="roberta-large")
  run = dataclasses.replace(large.run, start="roberta-large")
  optimizer = dataclasses.replace(large.optimizer, frozen=())
  return dataclasses.replace(
    large, model=SIZES["roberta-large"], task=task, run=run, optimizer=optimizer
  )
