"""XNLI after pretraining on characters, then phrases, a row of the paper's ablation.

Known only at second hand, not verified: accuracy 78.3 on dev and 77.3 on test, with a tenth of the
pretraining data. pretraining_phrases.py makes its start; all else is as in xnli.py.

    luke-jax experiment run experiments/ernie_baidu/xnli_phrases.py --seeds 1..5
"""

import dataclasses
from pathlib import Path

from luke_jax.training.experiment import Experiment, load_experiment

PAPER = {
  "table": "ERNIE of Baidu: XNLI, test, a tenth of the data (unverified)",
  "method": "and phrases",
  "split": "test",
  "accuracy": 77.3,
}
START = "ernie-phrases"


def config() -> Experiment:
  """The experiment."""
  whole = load_experiment(Path(__file__).with_name("xnli.py"))
  task = dataclasses.replace(whole.task, text=START)
  return dataclasses.replace(whole, task=task, run=dataclasses.replace(whole.run, start=START))
