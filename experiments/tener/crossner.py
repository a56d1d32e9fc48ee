"""CrossNER with TENER, without vectors made elsewhere.

run.sh makes datasets/tener/crossner, of all five domains.
"""

from luke_jax.files import Path
from luke_jax.runs.recipes import task_experiment
from luke_jax.training.experiment import Experiment

PAPER = {"table": "TENER: CrossNER", "method": "TENER", "split": "test"}


def config() -> Experiment:
  """The experiment: TENER's recipe but for its optimizer, on these files."""
  folder = Path("datasets/tener/crossner")
  changes = (
    f"task.test={folder / 'test.conll'}",
    "task.words=64",
    # From random embeddings, the paper's SGD predicts no name of WNUT-17 in its first nine epochs.
    "optimizer.kind=adamw",
    "optimizer.learning_rate=1e-3",
    "optimizer.beta2=0.999",
    "optimizer.bias_correction=true",
    "run.epochs=40",
    "run.evaluate_every=220",  # about five epochs: dev is larger than train
  )
  files = folder / "train.conll", folder / "dev.conll"
  return task_experiment("tagging", files, folder / "fresh", changes)
