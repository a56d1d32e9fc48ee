"""Ratings of IMDB from 1 to 10 by text, user and product, with a MA-BERT.

The paper's figures could not be verified, see docs/ma-bert.md. The recipe is that of the authors'
code: batches of 32, 20 epochs, rate 2e-5, warm-up of a tenth; 512 pieces of a review, of which 128
of the beginning and 382 of the end. The files are those of Tang et al. (2015), which you bring.

    luke-jax experiment run experiments/ma_bert/imdb.py --seeds 1..3
"""

from luke_jax.heads.attributes import Attributes
from luke_jax.models.system import Running
from luke_jax.models.table import SIZES
from luke_jax.pipeline.batches import Data
from luke_jax.tasks.classification.task import TextClassification
from luke_jax.training.experiment import Experiment, Run
from luke_jax.training.optimizer import Optimizer, Schedule

PAPER = {"table": "MA-BERT: IMDB, test", "method": "MA-BERT", "split": "test"}


def config() -> Experiment:
  """The experiment."""
  return Experiment(
    model=SIZES["bert-base"],
    running=Running(dtype="bfloat16"),
    task=TextClassification(
      **{split: f"ma-bert-data/imdb.{split}.txt.ss" for split in ("train", "dev", "test")},
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
