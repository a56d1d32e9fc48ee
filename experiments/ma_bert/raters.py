"""Ratings that depend on text and user, by a tiny BERT with layers of attributes on it.

    python -m data.raters.generate datasets/raters
    luke-jax experiment run experiments/ma_bert/raters.py --seeds 1..3

The text alone allows an accuracy of .5. The other forms, and the text without attributes:

    --set task.attributes.form=a
    --set task.attributes.names=

run.sh does all of it for a seed. Less than a minute on a CPU core each.
"""

from luke_jax.heads.attributes import Attributes
from luke_jax.pipeline.batches import Data
from luke_jax.systems.bert.config import BertConfig
from luke_jax.tasks.classification.task import TextClassification
from luke_jax.training.experiment import Experiment, Run
from luke_jax.training.optimizer import Optimizer

PAPER = {"table": "Raters", "method": "MA-BERT, form d", "split": "test"}
FOLDER = "datasets/raters"


def config() -> Experiment:
  """The experiment."""
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
      **{split: f"{FOLDER}/{split}.ss" for split in ("train", "dev", "test")},
      text=FOLDER,
      labels=tuple("12345"),
      words=32,
      attributes=Attributes(("user", "product"), layers=1, attribute_init="uniform25"),
    ),
    data=Data(batch_size=32, evaluation_batch_size=200),
    optimizer=Optimizer(learning_rate=3e-3, bias_correction=True),
    run=Run(epochs=30, evaluate_every=188, best_metric="accuracy"),
  )
