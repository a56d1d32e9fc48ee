"""TENER: the rows of its paper, and free data without vectors made elsewhere.

Batches of 16, 100 epochs, rate 7e-4 unless a row has others; F1 is a mean of runs. A fresh model is
made first, of the corpora as they are distributed, with GloVe's vectors:

    luke-jax new tener-data/conll2003/fresh --size tener-conll2003 \\
      --train tener-data/conll2003/train.txt \\
      --also tener-data/conll2003/dev.txt --also tener-data/conll2003/test.txt \\
      --vectors glove.6B.100d.txt --digits-as-zero --character-encoder cnn
    luke-jax experiment run experiments/tener.py:conll2003 --seeds 1..5

For ontonotes5, files in the form of CoNLL-2012, those of a split in one, and no
--character-encoder. For the Chinese ones, lines of a character and its tag, with 50-d vectors; in
MSRA dev and test are the same file, as in the paper:

      --bigrams --least-bigrams 2 --character-encoder none \\
      --vectors characters.vec --bigram-vectors bigrams.vec

Weibo and Resume keep every bigram. tener.sh makes the files of the free data.
"""

from collections.abc import Callable
from typing import NamedTuple

from luke_jax.files import Path
from luke_jax.runs.recipes import task_experiment
from luke_jax.training.experiment import Experiment
from luke_jax.training.experiment_files import Row
from luke_jax.training.overrides import row


class Corpus(NamedTuple):
  """A corpus of the paper."""

  table: str
  changes: tuple[str, ...]
  f1: tuple[float, float, float]  # TENER, the plain transformer, TENER with scaled attention
  ending: str = "txt"


BMESO = "task.scheme=BMESO"
PUBLISHED = {
  # ± .05; attention of 14 x 128, characters by a convolution.
  "conll2003": Corpus(
    "CoNLL-2003", ("task.words=128", "optimizer.learning_rate=9e-4"), (91.43, 89.57, 91.06)
  ),
  # ± .12; 8 x 96.
  "ontonotes5": Corpus("OntoNotes 5", ("task.words=256",), (88.43, 86.73, 87.94), "conll"),
  # ± .39; 4 x 48.
  "ontonotes4": Corpus("OntoNotes 4 in Chinese", ("task.words=256", BMESO), (72.73, 66.49, 71.72)),
  # ± .27; 6 x 80.
  "msra": Corpus("MSRA", ("task.words=256", BMESO), (92.74, 88.35, 91.67)),
  # ± .22; 4 x 32.
  "weibo": Corpus(
    "Weibo", ("task.words=192", BMESO, "optimizer.learning_rate=1e-3"), (58.17, 46.38, 57.4)
  ),
  # ± .25; 4 x 64.
  "resume": Corpus("Resume", ("task.words=192", BMESO, "run.epochs=50"), (95.0, 93.43, 94.0)),
}
FORMS = {
  "": ("TENER", ()),
  "-transformer": ("Transformer", ("model.encoder=transformer",)),
  "-with-scale": ("TENER with scale", ("model.scale=true",)),
}


def tagging(folder: Path, ending: str, *changes: str) -> Callable[[], Experiment]:
  """Returns what returns TENER's recipe on the files of a folder, by changes that say how."""
  files = folder / f"train.{ending}", folder / f"dev.{ending}"
  test = f"task.test={folder / f'test.{ending}'}"
  return lambda: task_experiment("tagging", files, folder / "fresh", [test, *changes])


def published(name: str) -> dict[str, Row]:
  """Returns the rows of a corpus of the paper."""
  table, changes, scores, ending = PUBLISHED[name]
  config = tagging(Path("tener-data", name), ending, *changes)
  paper = {"table": f"TENER: {table}, test", "split": "test"}
  return {
    f"{name}{form}": row(config, *more, **paper, method=method, f1=f1)
    for (form, (method, more)), f1 in zip(FORMS.items(), scores, strict=True)
  }


def free(name: str, table: str, *changes: str) -> Row:
  """Returns the row of free data, with another optimizer.

  From random embeddings, the paper's SGD predicts no name of WNUT-17 in its first nine epochs.
  """
  adam = ("kind=adamw", "learning_rate=1e-3", "beta2=0.999", "bias_correction=true")
  changes = (*(f"optimizer.{change}" for change in adam), *changes)
  config = tagging(Path("datasets/tener", name), "conll", *changes)
  return row(config, table=f"TENER: {table}", method="TENER", split="test")


ROWS = {
  **{name: each for corpus in PUBLISHED for name, each in published(corpus).items()},
  # About five epochs between scores: dev is larger than train.
  "crossner": free(
    "crossner", "CrossNER", "task.words=64", "run.epochs=40", "run.evaluate_every=220"
  ),
  # Of UNER_Chinese-GSDSIMP. A word is a character.
  "uner-zh": free(
    "uner_zh",
    "Universal NER in Chinese",
    *("task.columns=_,word,tag,_,_", "task.characters=true", "task.words=128", "run.epochs=12"),
  ),
  "wnut17": free("wnut17", "WNUT-17", "task.words=64", "run.epochs=15"),
}
