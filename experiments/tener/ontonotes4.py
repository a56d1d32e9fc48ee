r"""OntoNotes 4 in Chinese with TENER, a row of the paper.

The paper: F1 72.73 ± .39 on the test set; the plain transformer 66.49.
Batches of 16, 100 epochs, rate 7e-4, attention of 4 x 48.
Lines of a character and its tag; 50-d vectors of characters and bigrams.

    luke-jax new tener-data/ontonotes4/fresh --size tener-ontonotes4 \
      --train tener-data/ontonotes4/train.txt \
      --also tener-data/ontonotes4/dev.txt --also tener-data/ontonotes4/test.txt \
      --bigrams --least-bigrams 2 --character-encoder none \
      --vectors characters.vec --bigram-vectors bigrams.vec
    luke-jax experiment run experiments/tener/ontonotes4.py --seeds 1..5
"""

from luke_jax.files import Path
from luke_jax.runs.recipes import task_experiment
from luke_jax.training.experiment import Experiment

PAPER = {
  "table": "TENER: OntoNotes 4 in Chinese, test",
  "method": "TENER",
  "split": "test",
  "f1": 72.73,
}


def config() -> Experiment:
  """The experiment: TENER's recipe, on these files."""
  folder = Path("tener-data/ontonotes4")
  files = folder / "train.txt", folder / "dev.txt"
  changes = (f"task.test={folder / 'test.txt'}", "task.words=256", "task.scheme=BMESO")
  return task_experiment("tagging", files, folder / "fresh", changes)
