"""Cloze questions of ReCoRD with the attention of the original transformer (Table 7).

The paper: exact match 90.1, F1 90.7 on the development set.
All else is as in luke_large.py.

    luke-jax experiment run experiments/cloze/original_attention.py --seeds 1..5
"""

import dataclasses
from pathlib import Path

from luke_jax.training.experiment import Experiment, load_experiment

PAPER = {
  "table": "Table 4: ReCoRD, dev",
  "method": "LUKE-large, original attention",
  "split": "dev",
  "exact_match": 90.1,
  "f1": 90.7,
}


def config() -> Experiment:
  """The experiment."""
  large = load_experiment(Path(__file__).with_name("luke_large.py"))
  model = dataclasses.replace(large.model, use_entity_aware_attention=False)
  return dataclasses.replace(large, model=model)
