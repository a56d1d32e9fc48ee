"""Ratings of reviews of fine food by a small XLM-R that has read nothing else.

bash experiments/families/run.sh 1 results/families
"""

import dataclasses
from pathlib import Path

from luke_jax.training.experiment import Experiment, load_experiment

PAPER = {"table": "Reviews of fine food", "method": "XLM-R, not pretrained", "split": "test"}


def config() -> Experiment:
  """The experiment of reviews_bert.py, with the system of wnut17_xlm_r.py."""
  reviews, names = (
    load_experiment(Path(__file__).with_name(f"{group}.py"))
    for group in ("reviews_bert", "wnut17_xlm_r")
  )
  task = dataclasses.replace(reviews.task, text=names.task.text)
  run = dataclasses.replace(names.run, epochs=10, evaluate_every=88, best_metric="accuracy")
  return dataclasses.replace(names, task=task, data=reviews.data, run=run)
