r"""MSRA with TENER, a row of the paper.

The paper: F1 92.74 ± .27 on the test set; the plain transformer 88.35.
Batches of 16, 100 epochs, rate 7e-4, attention of 6 x 80.
Lines of a character and its tag; dev and test are the same file, as in the paper.

    luke-jax new tener-data/msra/fresh --size tener-msra \
      --train tener-data/msra/train.txt \
      --also tener-data/msra/dev.txt --also tener-data/msra/test.txt \
      --bigrams --least-bigrams 2 --character-encoder none \
      --vectors characters.vec --bigram-vectors bigrams.vec
    luke-jax experiment run experiments/tener/msra.py --seeds 1..5
"""

from luke_jax.files import Path
from luke_jax.runs.recipes import task_experiment
from luke_jax.training.experiment import Experiment

PAPER = {"table": "TENER: MSRA, test", "method": "TENER", "split": "test", "f1": 92.74}


def config() -> Experiment:
  """The experiment: TENER's recipe, on these files."""
  folder = Path("tener-data/msra")
  files = folder / "train.txt", folder / "dev.txt"
  changes = (f"task.test={folder / 'test.txt'}", "task.words=256", "task.scheme=BMESO")
  return task_experiment("tagging", files, folder / "fresh", changes)
