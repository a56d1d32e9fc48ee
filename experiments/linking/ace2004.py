"""Linking of ACE2004, trained as in msnbc.py on links of Wikipedia.

Yamada et al. (2022): F1 91.9. A model of msnbc.py is the same, and is scored by
`luke-jax evaluate linking results/msnbc/seed-1/model ganea/wned-ace2004.csv`.

    luke-jax experiment run experiments/linking/ace2004.py --seeds 1..3
"""

import dataclasses
from pathlib import Path

from luke_jax.training.experiment import Experiment, load_experiment

PAPER = {"table": "Yamada et al. 2022: ACE2004", "method": "global", "split": "test", "f1": 91.9}


def config() -> Experiment:
  """The experiment."""
  msnbc = load_experiment(Path(__file__).with_name("msnbc.py"))
  return dataclasses.replace(
    msnbc, task=dataclasses.replace(msnbc.task, test="ganea/wned-ace2004.csv")
  )
