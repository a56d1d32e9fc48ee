r"""CoNLL-2003 with TENER, a row of the paper.

The paper: F1 91.43 ± .05 on the test set; the plain transformer 89.57.
Batches of 16, 100 epochs, rate 9e-4, attention of 14 x 128. Characters by a convolution.
The files are the corpus as it is distributed; GloVe's vectors.

    luke-jax new tener-data/conll2003/fresh --size tener-conll2003 \
      --train tener-data/conll2003/train.txt \
      --also tener-data/conll2003/dev.txt --also tener-data/conll2003/test.txt \
      --vectors glove.6B.100d.txt --digits-as-zero --character-encoder cnn
    luke-jax experiment run experiments/tener/conll2003.py --seeds 1..5
"""

from luke_jax.files import Path
from luke_jax.runs.recipes import task_experiment
from luke_jax.training.experiment import Experiment

PAPER = {"table": "TENER: CoNLL-2003, test", "method": "TENER", "split": "test", "f1": 91.43}


def config() -> Experiment:
  """The experiment: TENER's recipe, on these files."""
  folder = Path("tener-data/conll2003")
  files = folder / "train.txt", folder / "dev.txt"
  changes = (f"task.test={folder / 'test.txt'}", "task.words=128", "optimizer.learning_rate=9e-4")
  return task_experiment("tagging", files, folder / "fresh", changes)
