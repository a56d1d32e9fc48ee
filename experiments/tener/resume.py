r"""Resume with TENER, a row of the paper.

The paper: F1 95.00 ± .25 on the test set; the plain transformer 93.43.
Batches of 16, 50 epochs, rate 7e-4, attention of 4 x 64.
Lines of a character and its tag.

    luke-jax new tener-data/resume/fresh --size tener-resume \
      --train tener-data/resume/train.txt \
      --also tener-data/resume/dev.txt --also tener-data/resume/test.txt \
      --bigrams --character-encoder none \
      --vectors characters.vec --bigram-vectors bigrams.vec
    luke-jax experiment run experiments/tener/resume.py --seeds 1..5
"""

from luke_jax.files import Path
from luke_jax.runs.recipes import task_experiment
from luke_jax.training.experiment import Experiment

PAPER = {"table": "TENER: Resume, test", "method": "TENER", "split": "test", "f1": 95.0}


def config() -> Experiment:
  """The experiment: TENER's recipe, on these files."""
  folder = Path("tener-data/resume")
  files = folder / "train.txt", folder / "dev.txt"
  changes = (
    f"task.test={folder / 'test.txt'}",
    "task.words=192",
    "task.scheme=BMESO",
    "run.epochs=50",
  )
  return task_experiment("tagging", files, folder / "fresh", changes)
