"""A tiny ERNIE of Baidu: a stage of its pretraining, names and topics. Not rows of a paper.

The corpus is the demonstration file of its authors, with entities by data.ernie_baidu.demo_units;
ernie-1.0 is a folder with their vocab.txt. The stage here has single characters; tiny_ernie.sh has
the others. Names are those of UNER (GSDSIMP), train.iob2, dev.iob2 and test.iob2 in
uner_zh_gsdsimp; topics those of SIB-200, train.tsv and dev.tsv in sib200_zho_Hans.

    luke-jax train experiments/tiny_ernie.py:pretraining --output runs/tiny-ernie
    luke-jax export runs/tiny-ernie tiny-ernie
    luke-jax experiment run experiments/tiny_ernie.py:ner --seeds 1..3
    luke-jax experiment run experiments/tiny_ernie.py:topics --seeds 1..3
"""

import dataclasses

from luke_jax.pipeline.batches import Data
from luke_jax.systems.ernie_baidu import ErnieBaiduConfig
from luke_jax.systems.ernie_baidu.pretraining import UnitPretraining
from luke_jax.tasks.classification.task import TextClassification
from luke_jax.tasks.contract import TextTask
from luke_jax.tasks.tagging.task import Tagging
from luke_jax.training.experiment import Experiment, Run
from luke_jax.training.optimizer import Optimizer, Schedule
from luke_jax.training.overrides import row

TAGS = ("O", *(f"{part}-{label}" for label in ("LOC", "ORG", "PER") for part in "BI"))
TOPICS = "entertainment geography health politics science/technology sports travel"
MODEL = ErnieBaiduConfig(
  hidden_size=128,
  num_hidden_layers=2,
  num_attention_heads=4,
  intermediate_size=512,
  max_position_embeddings=160,
  # With four layers, the usual 0.02 and dropout, 600 steps learn how frequent words are and no
  # more: states are nearly equal in all texts, and learn names and topics worse than fresh do.
  initializer_range=0.1,
  hidden_dropout_prob=0.0,
  attention_probs_dropout_prob=0.0,
)


def pretraining() -> Experiment:
  """Returns a stage of pretraining."""
  return Experiment(
    model=MODEL,
    task=UnitPretraining(
      files=("demo_units.gz",),
      text="ernie-1.0",
      levels=("phrase", "entity"),
      mixture=(1.0, 0.0, 0.0),
      words=136,
      masked=28,
    ),
    data=Data(batch_size=32, evaluation_batch_size=64, lengths=3),
    optimizer=Optimizer(
      learning_rate=2e-3, beta2=0.999, bias_correction=True, max_gradient_norm=1.0
    ),
    schedule=Schedule(warmup_ratio=0.1),
    run=Run(steps=3000, evaluate_every=1000, save_every=1000),
  )


def fine_tuning(task: TextTask) -> Experiment:
  """Returns the experiment of a task."""
  return Experiment(
    model=dataclasses.replace(MODEL, hidden_dropout_prob=0.1, attention_probs_dropout_prob=0.1),
    task=task,
    data=Data(batch_size=32, evaluation_batch_size=64, lengths=4),
    optimizer=Optimizer(learning_rate=5e-4, beta2=0.999, max_gradient_norm=1.0),
    schedule=Schedule(warmup_ratio=0.1),
    run=Run(epochs=10, start="tiny-ernie", evaluate_every=250, best_metric="f1"),
  )


def ner() -> Experiment:
  """Returns names by tags."""
  return fine_tuning(
    Tagging(
      **{split: f"uner_zh_gsdsimp/{split}.iob2" for split in ("train", "dev", "test")},
      text="tiny-ernie",
      labels=TAGS,
      words=136,
      context=False,
      language="zh",
      columns=("_", "word", "tag", "_", "_"),
    )
  )


def topics() -> Experiment:
  """Returns topics of sentences, without a test set."""
  return fine_tuning(
    TextClassification(
      train="sib200_zho_Hans/train.tsv",
      dev="sib200_zho_Hans/dev.tsv",
      text="tiny-ernie",
      labels=tuple(TOPICS.split()),
      words=136,
      columns=("text=text", "label=category"),
    )
  )


ROWS = {
  "pretraining": row(pretraining),
  "ner": row(ner, table="Tiny ERNIE: UNER Chinese, test", method="tiny ERNIE", split="test"),
  # Four layers by batches of 16 at 1e-3 learned no topic, from random parameters either.
  "topics": row(
    topics,
    *("optimizer.learning_rate=3e-4", "run.epochs=20"),
    *("run.evaluate_every=100", "run.best_metric=accuracy"),
    table="Tiny ERNIE: SIB-200 Chinese, dev",
    method="tiny ERNIE",
    split="dev",
  ),
}
