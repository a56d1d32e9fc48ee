"""Ratings of 1,000 reviews of fine food, five classes, by MiniLM: the text alone.

    luke-jax get english
    bash experiments/families/run.sh 1 results/families

run.sh makes datasets/fine_food: train, dev and test of 700, 150 and 150 reviews.
"""

from luke_jax.convert.published import published
from luke_jax.models.system import Running
from luke_jax.pipeline.batches import Data
from luke_jax.runs.recipes import start_sizes
from luke_jax.tasks.classification.task import TextClassification
from luke_jax.training.experiment import Experiment, Run
from luke_jax.training.optimizer import Optimizer

PAPER = {"table": "Reviews of fine food", "method": "BERT (MiniLM)", "split": "test"}


def config() -> Experiment:
  """The experiment."""
  start = published("english")
  return Experiment(
    model=start_sizes(TextClassification, start),
    task=TextClassification(
      **{split: f"datasets/fine_food/{split}.ss" for split in ("train", "dev", "test")},
      text=str(start),
      labels=tuple("12345"),
      words=192,
    ),
    running=Running(dtype="bfloat16"),
    data=Data(batch_size=16, evaluation_batch_size=50, lengths=4),
    optimizer=Optimizer(learning_rate=2e-4, average=0.99, bias_correction=True),
    run=Run(epochs=5, start=str(start), evaluate_every=44, best_metric="accuracy"),
  )
