"""The ablation of FewRel that reads no entities when it is fine-tuned, a row of the paper.

The paper: F1 85.79 on the test set. All else is as in few_rel.py.

    luke-jax experiment run experiments/ernie_thu/few_rel_without_entities.py --seeds 1..5
"""

import dataclasses
from pathlib import Path

from luke_jax.training.experiment import Experiment, load_experiment

PAPER = {
  "table": "ERNIE of Tsinghua: FewRel, test",
  "method": "without entities",
  "split": "test",
  "f1": 85.79,
}


def config() -> Experiment:
  """The experiment."""
  whole = load_experiment(Path(__file__).with_name("few_rel.py"))
  return dataclasses.replace(whole, task=dataclasses.replace(whole.task, vectors=""))
