"""Linking of AIDA's news with a linker of Wikipedia's links, fine-tuned on them.

Yamada et al. (2022): accuracy 95.0 on testB, with another model. msnbc.py says which, names
the files, and trains the start. Their loss is a mean over names and padding: `task.padded_mean`.

    luke-jax experiment run experiments/linking/msnbc.py --seeds 1 --output results/msnbc
    luke-jax experiment run experiments/linking/aida.py --seeds 1..5
"""

import dataclasses
from pathlib import Path

from luke_jax.training.experiment import Experiment, load_experiment

PAPER = {
  "table": "Yamada et al. 2022: AIDA, testB",
  "method": "global",
  "split": "test",
  "accuracy": 95.0,
}


def config() -> Experiment:
  """The experiment."""
  msnbc = load_experiment(Path(__file__).with_name("msnbc.py"))
  files = {
    "train": "ganea/aida_train.csv",
    "dev": "ganea/aida_testA.csv",
    "test": "ganea/aida_testB.csv",
  }
  task = dataclasses.replace(msnbc.task, **files, padded_mean=True)
  run = dataclasses.replace(msnbc.run, start="results/msnbc/seed-1/model")
  return dataclasses.replace(msnbc, task=task, run=run)
