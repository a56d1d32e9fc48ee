"""Topics of the sample texts, with a tiny LUKE of the sample wiki.

    luke-jax experiment run experiments/sample/classification.py --seeds 1..3

It starts from data/sample_model, which pretraining/tiny.py made. What that is worth:

    --set run.start=null
"""

import dataclasses
from pathlib import Path

from luke_jax.pipeline.batches import Data
from luke_jax.tasks.classification.task import TextClassification
from luke_jax.training.experiment import Experiment, Run, load_experiment
from luke_jax.training.optimizer import Optimizer

LABELS = ("award", "event", "language", "organization", "person", "place", "species", "work")

PAPER = {"table": "Sample tasks: classification", "method": "tiny LUKE", "split": "test"}


def config() -> Experiment:
  """The experiment."""
  pretraining = load_experiment(Path(__file__).parents[1] / "pretraining" / "tiny.py")
  model = dataclasses.replace(pretraining.model, entity_vocab_size=4)
  return Experiment(
    model=model,
    task=TextClassification(
      train="data/sample_tasks/classification/train.jsonl",
      dev="data/sample_tasks/classification/dev.jsonl",
      test="data/sample_tasks/classification/test.jsonl",
      text="data/sample_model",
      labels=LABELS,
      words=64,
    ),
    data=Data(batch_size=16, evaluation_batch_size=32),
    optimizer=Optimizer(learning_rate=3e-3, bias_correction=True),
    run=Run(epochs=6, start="data/sample_model", evaluate_every=45, best_metric="accuracy"),
  )
