"""Relation classification of the sample tasks, with a tiny LUKE of the sample wiki.

    luke-jax experiment run experiments/sample/relations.py --seeds 1..3

It starts from data/sample_model, which pretraining/tiny.py made. What that is worth, what entities
are, and what their attention is:

    --set run.start=null
    --set model.entity_vocab_size=0 --set model.use_entity_aware_attention=false
    --set model.use_entity_aware_attention=false
"""

import dataclasses
from pathlib import Path

from luke_jax.pipeline.batches import Data
from luke_jax.tasks.relations.task import RelationClassification
from luke_jax.training.experiment import Experiment, Run, load_experiment
from luke_jax.training.optimizer import Optimizer

LABELS = (
  "no_relation",
  "acted_in",
  "born_in",
  "citizen_of",
  "coaches",
  "died_in",
  "directed",
  "headquartered_in",
  "plays_for",
  "set_in",
  "studied_at",
  "translated",
  "wrote",
)

PAPER = {"table": "Sample tasks: relations", "method": "tiny LUKE", "split": "test"}


def config() -> Experiment:
  """The experiment."""
  pretraining = load_experiment(Path(__file__).parents[1] / "pretraining" / "tiny.py")
  model = dataclasses.replace(
    pretraining.model,
    entity_vocab_size=4,
  )
  return Experiment(
    model=model,
    task=RelationClassification(
      train="data/sample_tasks/relations/train.jsonl",
      dev="data/sample_tasks/relations/dev.jsonl",
      test="data/sample_tasks/relations/test.jsonl",
      text="data/sample_model",
      labels=LABELS,
      words=64,
    ),
    data=Data(batch_size=16, evaluation_batch_size=32),
    optimizer=Optimizer(learning_rate=3e-3, bias_correction=True, frozen=("luke/pooler",)),
    run=Run(epochs=4, start="data/sample_model", evaluate_every=150, best_metric="f1"),
  )
