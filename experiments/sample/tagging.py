"""Named entities of the sample tasks by tags, with a tiny LUKE of the sample wiki.

    luke-jax experiment run experiments/sample/tagging.py --seeds 1..3

It is sample/ner.py with a tag for every word. With a conditional random field:

    --set task.crf=true
"""

import dataclasses
from pathlib import Path

from luke_jax.tasks.tagging.task import Tagging
from luke_jax.training.experiment import Experiment, load_experiment

LABELS = ("LOC", "MISC", "ORG", "PER")
TAGS = ("O", *(f"{prefix}-{label}" for label in LABELS for prefix in "BI"))

PAPER = {"table": "Sample tasks: tagging", "method": "tiny LUKE", "split": "test"}


def config() -> Experiment:
  """The experiment."""
  spans = load_experiment(Path(__file__).with_name("ner.py"))
  files = {name: getattr(spans.task, name) for name in ("train", "dev", "test", "text", "words")}
  optimizer = dataclasses.replace(spans.optimizer, frozen=())  # this head has no pooler
  return dataclasses.replace(spans, task=Tagging(labels=TAGS, **files), optimizer=optimizer)
