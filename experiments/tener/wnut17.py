"""WNUT-17 with TENER, without vectors made elsewhere.

run.sh makes datasets/tener/wnut17.
"""

from luke_jax.files import Path
from luke_jax.runs.recipes import task_experiment
from luke_jax.training.experiment import Experiment

PAPER = {"table": "TENER: WNUT-17", "method": "TENER", "split": "test"}


def config() -> Experiment:
  """The experiment: TENER's recipe, on these files."""
  folder = Path("datasets/tener/wnut17")
  changes = (
    f"task.test={folder / 'test.conll'}",
    "task.words=64",
    "run.epochs=30",
  )
  files = folder / "train.conll", folder / "dev.conll"
  return task_experiment("tagging", files, folder / "fresh", changes)
