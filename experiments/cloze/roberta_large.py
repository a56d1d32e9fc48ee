"""Cloze questions of ReCoRD with RoBERTa-large: no entities (Table 4 of the paper).

The head reads the placeholder and the markers before the candidates.

The paper: exact match 89.0, F1 89.5 on the development set.
All else is as in luke_large.py.

    hf download FacebookAI/roberta-large --local-dir roberta-large
    luke-jax experiment run experiments/cloze/roberta_large.py --seeds 1..5
"""

import dataclasses
from pathlib import Path

from luke_jax.models.table import SIZES
from luke_jax.training.experiment import Experiment, load_experiment

PAPER = {
  "table": "Table 4: ReCoRD, dev",
  "method": "RoBERTa-large",
  "split": "dev",
  "exact_match": 89.0,
  "f1": 89.5,
}


def config() -> Experiment:
  """The experiment."""
  large = load_experiment(Path(__file__).with_name("luke_large.py"))
  model = dataclasses.replace(
    SIZES["roberta-large"],
    vocab_size=50268,  # with the task's three words
  )
  task = dataclasses.replace(large.task, text="roberta-large")
  run = dataclasses.replace(large.run, start="roberta-large")
  optimizer = dataclasses.replace(large.optimizer, frozen=())
  return dataclasses.replace(large, model=model, task=task, run=run, optimizer=optimizer)
