"""Relation classification on TACRED with RoBERTa-large: no entities (Table 2 of the paper).

The head reads the states of the markers before the two mentions.

The paper: precision 70.2, recall 72.4, F1 71.3 on the test set.
All else is as in luke_large.py.

    hf download FacebookAI/roberta-large --local-dir roberta-large
    luke-jax experiment run experiments/relations/roberta_large.py --seeds 1..5
"""

import dataclasses
from pathlib import Path

from luke_jax.models.table import SIZES
from luke_jax.training.experiment import Experiment, load_experiment

PAPER = {
  "table": "Table 2: TACRED, test",
  "method": "RoBERTa-large",
  "split": "test",
  "precision": 70.2,
  "recall": 72.4,
  "f1": 71.3,
}


def config() -> Experiment:
  """The experiment."""
  large = load_experiment(Path(__file__).with_name("luke_large.py"))
  model = dataclasses.replace(
    SIZES["roberta-large"],
    vocab_size=large.model.vocab_size,  # with the markers of entities
  )
  task = dataclasses.replace(large.task, text="roberta-large")
  run = dataclasses.replace(large.run, start="roberta-large")
  optimizer = dataclasses.replace(large.optimizer, frozen=())
  return dataclasses.replace(large, model=model, task=task, run=run, optimizer=optimizer)
