"""Cloze questions of the sample tasks, with a tiny LUKE of the sample wiki.

    luke-jax experiment run experiments/sample/cloze.py --seeds 1..3

It starts from data/sample_model, which pretraining/tiny.py made. What that is worth, what entities
are, and what their attention is:

    --set run.start=null
    --set model.entity_vocab_size=0 --set model.use_entity_aware_attention=false
    --set model.use_entity_aware_attention=false
"""

import dataclasses
from pathlib import Path

from luke_jax.pipeline.batches import Data
from luke_jax.tasks.cloze.task import ClozeAnswering
from luke_jax.training.experiment import Experiment, Run, load_experiment
from luke_jax.training.optimizer import Optimizer

PAPER = {"table": "Sample tasks: cloze", "method": "tiny LUKE", "split": "test"}


def config() -> Experiment:
  """The experiment."""
  pretraining = load_experiment(Path(__file__).parents[1] / "pretraining" / "tiny.py")
  model = dataclasses.replace(
    pretraining.model,
    entity_vocab_size=4,
    vocab_size=2005,  # with the markers of the task
  )
  return Experiment(
    model=model,
    task=ClozeAnswering(
      train="data/sample_tasks/cloze/train.jsonl",
      dev="data/sample_tasks/cloze/dev.jsonl",
      test="data/sample_tasks/cloze/test.jsonl",
      text="data/sample_model",
      words=128,
      entities=32,
    ),
    data=Data(batch_size=16, evaluation_batch_size=32),
    optimizer=Optimizer(learning_rate=3e-3, bias_correction=True, frozen=("luke/pooler",)),
    run=Run(
      epochs=6,
      start="data/sample_model",
      log_every=20,
      best_metric="exact_match",
      evaluate_every=150,
    ),
  )
