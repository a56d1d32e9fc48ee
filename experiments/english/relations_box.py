"""Relations of two names in English text, and that there is none of them: `english/relations`.

    luke-jax get english
    python -m data.english.make ORIGINALS
    python -m data.english.unrelated WIKITEXT
    luke-jax experiment run experiments/english/relations_box.py --seeds 1

The experiment of relations_bert.py with pairs of names that are not related beside the others.
"""

import dataclasses
from pathlib import Path

from luke_jax.training.experiment import Experiment, Run, load_experiment

PAPER = {"table": "English: relations and none", "method": "MiniLM", "split": "test"}
FOLDER = "datasets/english/relations"


def config() -> Experiment:
  """The experiment."""
  whole = load_experiment(Path(__file__).with_name("relations_bert.py"))
  task = dataclasses.replace(
    whole.task,
    train=f"{FOLDER}/all_train.jsonl",
    dev=f"{FOLDER}/all_dev.jsonl",
    test=f"{FOLDER}/all_test.jsonl",
    labels=("no_relation", *whole.task.labels),
  )
  running = dataclasses.replace(whole.running, dtype="float32")
  run = Run(epochs=2, start=whole.run.start)
  return dataclasses.replace(whole, task=task, running=running, run=run)
