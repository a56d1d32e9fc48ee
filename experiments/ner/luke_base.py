"""Named entities in CoNLL-2003 with LUKE-base.

The authors' repository: F1 93.3 on the test set.
All else is as in luke_large.py.

    hf download studio-ousia/luke-base --local-dir luke-base
    luke-jax experiment run experiments/ner/luke_base.py --seeds 1..5
"""

import dataclasses
from pathlib import Path

from luke_jax.models.table import SIZES
from luke_jax.training.experiment import Experiment, load_experiment

PAPER = {
  "table": "Table 3: CoNLL-2003, test",
  "method": "LUKE-base",
  "split": "test",
  "f1": 93.3,
}


def config() -> Experiment:
  """The experiment."""
  large = load_experiment(Path(__file__).with_name("luke_large.py"))
  model = dataclasses.replace(
    SIZES["luke-base"],
    vocab_size=large.model.vocab_size,
    entity_vocab_size=large.model.entity_vocab_size,
  )
  task = dataclasses.replace(large.task, text="luke-base")
  run = dataclasses.replace(large.run, start="luke-base")
  return dataclasses.replace(large, model=model, task=task, run=run)
