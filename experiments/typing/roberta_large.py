"""Entity typing on Open Entity with RoBERTa-large: no entities (Table 1 of the paper).

The head reads the state of the marker before the mention.

The paper: precision 77.6, recall 75.0, F1 76.2 on the test set.
All else is as in luke_large.py.

    hf download FacebookAI/roberta-large --local-dir roberta-large
    luke-jax experiment run experiments/typing/roberta_large.py --seeds 1..5
"""

import dataclasses
from pathlib import Path

from luke_jax.models.table import SIZES
from luke_jax.training.experiment import Experiment, load_experiment

PAPER = {
  "table": "Table 1: Open Entity, test",
  "method": "RoBERTa-large",
  "split": "test",
  "precision": 77.6,
  "recall": 75.0,
  "f1": 76.2,
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
