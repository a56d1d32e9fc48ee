r"""OntoNotes 5 with TENER, a row of the paper.

The paper: F1 88.43 ± .12 on the test set; the plain transformer 86.73.
Batches of 16, 100 epochs, rate 7e-4, attention of 8 x 96.
Files in the form of CoNLL-2012, those of a split in one; GloVe's vectors.

    luke-jax new tener-data/ontonotes5/fresh --size tener-ontonotes5 \
      --train tener-data/ontonotes5/train.conll \
      --also tener-data/ontonotes5/dev.conll --also tener-data/ontonotes5/test.conll \
      --vectors glove.6B.100d.txt --digits-as-zero
    luke-jax experiment run experiments/tener/ontonotes5.py --seeds 1..5
"""

from luke_jax.files import Path
from luke_jax.runs.recipes import task_experiment
from luke_jax.training.experiment import Experiment

PAPER = {"table": "TENER: OntoNotes 5, test", "method": "TENER", "split": "test", "f1": 88.43}


def config() -> Experiment:
  """The experiment: TENER's recipe, on these files."""
  folder = Path("tener-data/ontonotes5")
  files = folder / "train.conll", folder / "dev.conll"
  changes = (f"task.test={folder / 'test.conll'}", "task.words=256")
  return task_experiment("tagging", files, folder / "fresh", changes)
