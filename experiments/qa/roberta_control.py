"""Questions of SQuAD 1.1 with RoBERTa-large, pretrained for as long as LUKE (Table 8).

Its pretraining is experiments/pretraining/roberta_large_control.py.

The paper: exact match 89.1, F1 94.7 on the development set.
All else is as in luke_large.py.

    luke-jax export runs/control roberta-large-control
    luke-jax experiment run experiments/qa/roberta_control.py --seeds 1..5
"""

import dataclasses
from pathlib import Path

from luke_jax.models.table import SIZES
from luke_jax.training.experiment import Experiment, load_experiment

PAPER = {
  "table": "Table 5: SQuAD 1.1, dev",
  "method": "RoBERTa-large, pretrained longer",
  "split": "dev",
  "exact_match": 89.1,
  "f1": 94.7,
}


def config() -> Experiment:
  """The experiment."""
  large = load_experiment(Path(__file__).with_name("luke_large.py"))
  model = dataclasses.replace(
    SIZES["roberta-large"],
    vocab_size=large.model.vocab_size,  # with the markers of entities
  )
  task = dataclasses.replace(large.task, text="roberta-large-control", mentions="")
  run = dataclasses.replace(large.run, start="roberta-large-control")
  optimizer = dataclasses.replace(large.optimizer, frozen=())
  return dataclasses.replace(large, model=model, task=task, run=run, optimizer=optimizer)
