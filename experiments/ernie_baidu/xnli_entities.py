"""XNLI after pretraining on characters, phrases and entities, a row of the paper's ablation.

Known only at second hand, not verified: accuracy 78.7 on dev and 77.6 on test, with a tenth of the
pretraining data. pretraining_entities.py makes its start; all else is as in xnli.py.

    luke-jax experiment run experiments/ernie_baidu/xnli_entities.py --seeds 1..5
"""

import dataclasses
from pathlib import Path

from luke_jax.training.experiment import Experiment, load_experiment

PAPER = {
  "table": "ERNIE of Baidu: XNLI, test, a tenth of the data (unverified)",
  "method": "and entities",
  "split": "test",
  "accuracy": 77.6,
}
START = "ernie-entities"


def config() -> Experiment:
  """The experiment."""
  whole = load_experiment(Path(__file__).with_name("xnli.py"))
  task = dataclasses.replace(whole.task, text=START)
  return dataclasses.replace(whole, task=task, run=dataclasses.replace(whole.run, start=START))
