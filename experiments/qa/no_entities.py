"""Questions of SQuAD 1.1 with LUKE-large, but no entities in its inputs (Table 6).

The paper: exact match 89.2, F1 94.8 on the development set.
All else is as in luke_large.py.

    luke-jax experiment run experiments/qa/no_entities.py --seeds 1..5
"""

import dataclasses
from pathlib import Path

from luke_jax.training.experiment import Experiment, load_experiment

PAPER = {
  "table": "Table 5: SQuAD 1.1, dev",
  "method": "LUKE-large, no entities",
  "split": "dev",
  "exact_match": 89.2,
  "f1": 94.8,
}


def config() -> Experiment:
  """The experiment."""
  large = load_experiment(Path(__file__).with_name("luke_large.py"))
  model = dataclasses.replace(large.model, entity_vocab_size=0, use_entity_aware_attention=False)
  optimizer = dataclasses.replace(large.optimizer, frozen=())
  task = dataclasses.replace(large.task, mentions="")
  return dataclasses.replace(large, model=model, task=task, optimizer=optimizer)
