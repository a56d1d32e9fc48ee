"""Entity typing of the sample tasks, with a tiny LUKE of the sample wiki.

    luke-jax experiment run experiments/sample/typing.py --seeds 1..3

It starts from data/sample_model, which pretraining/tiny.py made. What that is worth, what entities
are, and what their attention is:

    --set run.start=null
    --set model.entity_vocab_size=0 --set model.use_entity_aware_attention=false
    --set model.use_entity_aware_attention=false
"""

import dataclasses
from pathlib import Path

from luke_jax.pipeline.batches import Data
from luke_jax.tasks.typing.task import EntityTyping
from luke_jax.training.experiment import Experiment, Run, load_experiment
from luke_jax.training.optimizer import Optimizer

LABELS = (
  "artist",
  "athlete",
  "award",
  "book",
  "building",
  "city",
  "company",
  "country",
  "event",
  "film",
  "language",
  "musician",
  "organization",
  "person",
  "place",
  "politician",
  "river",
  "scientist",
  "song",
  "species",
  "team",
  "work",
  "writer",
)

PAPER = {"table": "Sample tasks: typing", "method": "tiny LUKE", "split": "test"}


def config() -> Experiment:
  """The experiment."""
  pretraining = load_experiment(Path(__file__).parents[1] / "pretraining" / "tiny.py")
  model = dataclasses.replace(
    pretraining.model,
    entity_vocab_size=4,
  )
  return Experiment(
    model=model,
    task=EntityTyping(
      train="data/sample_tasks/typing/train.jsonl",
      dev="data/sample_tasks/typing/dev.jsonl",
      test="data/sample_tasks/typing/test.jsonl",
      text="data/sample_model",
      labels=LABELS,
      words=64,
    ),
    data=Data(batch_size=16, evaluation_batch_size=32),
    optimizer=Optimizer(learning_rate=3e-3, bias_correction=True, frozen=("luke/pooler",)),
    run=Run(epochs=4, start="data/sample_model", evaluate_every=150, best_metric="f1"),
  )
