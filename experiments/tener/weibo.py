r"""Weibo with TENER, a row of the paper.

The paper: F1 58.17 ± .22 on the test set; the plain transformer 46.38.
Batches of 16, 100 epochs, rate 1e-3, attention of 4 x 32.
Lines of a character and its tag.

    luke-jax new tener-data/weibo/fresh --size tener-weibo \
      --train tener-data/weibo/train.txt \
      --also tener-data/weibo/dev.txt --also tener-data/weibo/test.txt \
      --bigrams --character-encoder none \
      --vectors characters.vec --bigram-vectors bigrams.vec
    luke-jax experiment run experiments/tener/weibo.py --seeds 1..5
"""

from luke_jax.files import Path
from luke_jax.runs.recipes import task_experiment
from luke_jax.training.experiment import Experiment

PAPER = {"table": "TENER: Weibo, test", "method": "TENER", "split": "test", "f1": 58.17}


def config() -> Experiment:
  """The experiment: TENER's recipe, on these files."""
  folder = Path("tener-data/weibo")
  files = folder / "train.txt", folder / "dev.txt"
  changes = (
    f"task.test={folder / 'test.txt'}",
    "task.words=192",
    "task.scheme=BMESO",
    "optimizer.learning_rate=1e-3",
  )
  return task_experiment("tagging", files, folder / "fresh", changes)
