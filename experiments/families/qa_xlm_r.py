"""Answers to questions about English text by a small XLM-R that has read nothing else.

bash experiments/families/run.sh 1 results/families
"""

import dataclasses
from pathlib import Path

from luke_jax.training.experiment import Experiment, load_experiment

PAPER = {"table": "English: qa", "method": "XLM-R, not pretrained", "split": "test"}


def config() -> Experiment:
  """The experiment of english/qa_bert.py, with the system of wnut17_xlm_r.py."""
  plain = load_experiment(Path(__file__).parents[1] / "english/qa_bert.py")
  names = load_experiment(Path(__file__).with_name("wnut17_xlm_r.py"))
  task = dataclasses.replace(plain.task, text=names.task.text)
  run = dataclasses.replace(names.run, epochs=3, evaluate_every=None, best_metric=None)
  return dataclasses.replace(names, task=task, data=plain.data, run=run)
