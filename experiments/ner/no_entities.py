"""Named entities in CoNLL-2003 with LUKE-large, but no entities in its inputs (Table 6).

The paper: F1 92.9 on the test set.
All else is as in luke_large.py.

    luke-jax experiment run experiments/ner/no_entities.py --seeds 1..5
"""

import dataclasses
from pathlib import Path

from luke_jax.training.experiment import Experiment, load_experiment

PAPER = {
  "table": "Table 3: CoNLL-2003, test",
  "method": "LUKE-large, no entities",
  "split": "test",
  "f1": 92.9,
}


def config() -> Experiment:
  """The experiment."""
  large = load_experiment(Path(__file__).with_name("luke_large.py"))
  model = dataclasses.replace(large.model, entity_vocab_size=0, use_entity_aware_attention=False)
  return dataclasses.replace(large, model=model)
