"""Questions of SQuAD 1.1 with RoBERTa-large: no entities (Table 5 of the paper).

The head is the same.

The paper: exact match 88.9, F1 94.6 on the development set.
All else is as in luke_large.py.

    hf download FacebookAI/roberta-large --local-dir roberta-large
    luke-jax experiment run experiments/qa/roberta_large.py --seeds 1..5
"""

import dataclasses
from pathlib import Path

from luke_jax.models.table import SIZES
from luke_jax.training.experiment import Experiment, load_experiment

PAPER = {
  "table": "Table 5: SQuAD 1.1, dev",
  "method": "RoBERTa-large",
  "split": "dev",
  "exact_match": 88.9,
  "f1": 94.6,
}


def config() -> Experiment:
  """The experiment."""
  large = load_experiment(Path(__file__).with_name("luke_large.py"))
  task = dataclasses.replace(large.task, text="roberta-large", mentions="")
  run = dataclasses.replace(large.run, start="roberta-large")
  optimizer = dataclasses.replace(large.optimizer, frozen=())
  return dataclasses.replace(
    large, model=SIZES["roberta-large"], task=task, run=run, optimizer=optimizer
  )
