"""Ratings of reviews by text, user and product, with a MA-BERT.

The paper's figures could not be verified, see docs/ma-bert.md. The recipe is that of the authors'
code: batches of 32, 20 epochs, rate 2e-5, warm-up of a tenth; 512 pieces of a review, of which 128
of the beginning and 382 of the end. The files are those of Tang et al. (2015), which you bring.

    luke-jax experiment run experiments/ma_bert.py:imdb --seeds 1..3

The raters are made up, and ma_bert.sh does all of them for a seed:

    python -m data.raters.generate datasets/raters
    luke-jax experiment run experiments/ma_bert.py:raters --seeds 1..3
"""

from luke_jax.heads.attributes import Attributes
from luke_jax.models.system import Running
from luke_jax.models.table import SIZES
from luke_jax.pipeline.batches import Data
from luke_jax.systems.bert import BertConfig
from luke_jax.tasks.classification.task import TextClassification
from luke_jax.training.experiment import Experiment, Run
from luke_jax.training.optimizer import Optimizer, Schedule
from luke_jax.training.overrides import row

SPLITS = ("train", "dev", "test")


def imdb() -> Experiment:
  """Returns the ratings of IMDB, from 1 to 10."""
  return Experiment(
    model=SIZES["bert-base"],
    running=Running(dtype="bfloat16"),
    task=TextClassification(
      **{split: f"ma-bert-data/imdb.{split}.txt.ss" for split in SPLITS},
      text="bert-base-uncased",
      labels=tuple(str(rating) for rating in range(1, 11)),
      keep=(128, 382),
      attributes=Attributes(("user", "product")),
    ),
    # Four texts on each of two devices, over four steps.
    data=Data(batch_size=32, evaluation_batch_size=64),
    optimizer=Optimizer(learning_rate=2e-5, beta2=0.999),
    schedule=Schedule(warmup_ratio=0.1),
    run=Run(epochs=20, start="bert-base-uncased", evaluate_every=2107, best_metric="accuracy"),
  )


def raters() -> Experiment:
  """Returns ratings that depend on text and user, of a tiny BERT with layers of attributes."""
  folder = "datasets/raters"
  return Experiment(
    model=BertConfig(
      vocab_size=50,
      hidden_size=32,
      num_hidden_layers=1,
      num_attention_heads=2,
      intermediate_size=64,
      max_position_embeddings=32,
    ),
    task=TextClassification(
      **{split: f"{folder}/{split}.ss" for split in SPLITS},
      text=folder,
      labels=tuple("12345"),
      words=32,
      attributes=Attributes(("user", "product"), layers=1, attribute_init="uniform25"),
    ),
    data=Data(batch_size=32, evaluation_batch_size=200),
    optimizer=Optimizer(learning_rate=3e-3, bias_correction=True),
    run=Run(epochs=30, evaluate_every=188, best_metric="accuracy"),
  )


def yelp(year: int) -> list[str]:
  """Returns the changes by which IMDB's experiment is that of Yelp, from 1 to 5."""
  files = f"ma-bert-data/yelp-{year}-seg-20-20"
  return [*(f"task.{split}={files}.{split}.ss" for split in SPLITS), "task.labels=1,2,3,4,5"]


PAPER = {"method": "MA-BERT", "split": "test"}

ROWS = {
  "imdb": row(imdb, **PAPER, table="MA-BERT: IMDB, test"),
  "yelp-2013": row(
    imdb, *yelp(2013), "run.evaluate_every=1953", **PAPER, table="MA-BERT: Yelp 2013, test"
  ),
  "yelp-2014": row(
    imdb, *yelp(2014), "run.evaluate_every=5719", **PAPER, table="MA-BERT: Yelp 2014, test"
  ),
  # Less than a minute on a CPU core. The text alone allows an accuracy of .5. Another form, and the
  # text without attributes: --set task.attributes.form=a, --set task.attributes.names=
  "raters": row(raters, table="Raters", method="MA-BERT, form d", split="test"),
}
