"""Linking of AQUAINT, trained as in msnbc.py on links of Wikipedia.

Yamada et al. (2022): F1 93.5. A model of msnbc.py is the same, and is scored by
`luke-jax evaluate linking results/msnbc/seed-1/model ganea/wned-aquaint.csv`.

    luke-jax experiment run experiments/linking/aquaint.py --seeds 1..3
"""

import dataclasses
from pathlib import Path

from luke_jax.training.experiment import Experiment, load_experiment

PAPER = {"table": "Yamada et al. 2022: AQUAINT", "method": "global", "split": "test", "f1": 93.5}


def config() -> Experiment:
  """The experiment."""
  msnbc = load_experiment(Path(__file__).with_name("msnbc.py"))
  return dataclasses.replace(
    msnbc, task=dataclasses.replace(msnbc.task, test="ganea/wned-aquaint.csv")
  )
