"""Relations of two names in English text by a small RoBERTa that has read nothing else.

bash experiments/families/run.sh 1 results/families
"""

import dataclasses
from pathlib import Path

from luke_jax.training.experiment import Experiment, load_experiment

PAPER = {"table": "English: relations", "method": "RoBERTa, not pretrained", "split": "test"}


def config() -> Experiment:
  """The experiment of english/relations_bert.py, with the system of wnut17_roberta.py."""
  plain = load_experiment(Path(__file__).parents[1] / "english/relations_bert.py")
  names = load_experiment(Path(__file__).with_name("wnut17_roberta.py"))
  task = dataclasses.replace(plain.task, text=names.task.text, words=96)  # by bytes, more pieces
  run = dataclasses.replace(names.run, epochs=10, evaluate_every=None, best_metric=None)
  return dataclasses.replace(names, task=task, data=plain.data, run=run)
