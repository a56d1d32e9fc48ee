"""Universal NER in Chinese with TENER, without vectors made elsewhere.

run.sh makes datasets/tener/uner_zh from UNER_Chinese-GSDSIMP. A word is a character.
"""

from luke_jax.files import Path
from luke_jax.runs.recipes import task_experiment
from luke_jax.training.experiment import Experiment

PAPER = {"table": "TENER: Universal NER in Chinese", "method": "TENER", "split": "test"}


def config() -> Experiment:
  """The experiment: TENER's recipe, on these files."""
  folder = Path("datasets/tener/uner_zh")
  changes = (
    f"task.test={folder / 'test.conll'}",
    "task.columns=_,word,tag,_,_",
    "task.characters=true",
    "task.words=128",
    "run.epochs=30",
  )
  files = folder / "train.conll", folder / "dev.conll"
  return task_experiment("tagging", files, folder / "fresh", changes)
