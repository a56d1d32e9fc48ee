"""The ablation of FewRel whose pretraining predicted no entities, a row of the paper.

The paper: F1 85.62 on the test set. pretraining_without_entity_loss.py makes its start; all else is
as in few_rel.py.

    luke-jax experiment run experiments/ernie_thu/few_rel_without_entity_loss.py --seeds 1..5
"""

import dataclasses
from pathlib import Path

from luke_jax.training.experiment import Experiment, load_experiment

PAPER = {
  "table": "ERNIE of Tsinghua: FewRel, test",
  "method": "without prediction of entities",
  "split": "test",
  "f1": 85.62,
}
START = "ernie-thu-without-entity-loss"


def config() -> Experiment:
  """The experiment."""
  whole = load_experiment(Path(__file__).with_name("few_rel.py"))
  task = dataclasses.replace(whole.task, text=START)
  return dataclasses.replace(whole, task=task, run=dataclasses.replace(whole.run, start=START))
