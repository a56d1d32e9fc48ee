"""Entity typing on Open Entity with the attention of the original transformer (Table 7).

The paper: F1 77.9 on the test set.
All else is as in luke_large.py.

    luke-jax experiment run experiments/typing/original_attention.py --seeds 1..5
"""

import dataclasses
from pathlib import Path

from luke_jax.training.experiment import Experiment, load_experiment

PAPER = {
  "table": "Table 1: Open Entity, test",
  "method": "LUKE-large, original attention",
  "split": "test",
  "f1": 77.9,
}


def config() -> Experiment:
  """The experiment."""
  large = load_experiment(Path(__file__).with_name("luke_large.py"))
  model = dataclasses.replace(large.model, use_entity_aware_attention=False)
  return dataclasses.replace(large, model=model)
