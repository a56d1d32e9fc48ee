"""CrossNER with TENER, without vectors made elsewhere.

run.sh makes datasets/tener/crossner, of all five domains.
"""

from luke_jax.files import Path
from luke_jax.runs.recipes import task_experiment
from luke_jax.training.experiment import Experiment

PAPER = {"table": "TENER: CrossNER", "method": "TENER", "split": "test"}


def config() -> Experiment:
  """The experiment: TENER's recipe, on these files."""
  folder = Path("datasets/tener/crossner")
  changes = (
    f"task.test={folder / 'test.conll'}",
    "task.words=64",
    "run.epochs=60",
    "run.evaluate_every=220",  # about five epochs: dev is larger than train
  )
  files = folder / "train.conll", folder / "dev.conll"
  return task_experiment("tagging", files, folder / "fresh", changes)
