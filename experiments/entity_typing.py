"""Entity typing on Open Entity: table 1 of the paper, and its row of table 7.

The paper's scores are the best of several runs; batches of 4, 3 epochs, learning rate 1e-5, best
epoch on the development set; 10 minutes on a V100. task.authors reads texts and averages losses as
their code does: a space before every piece of text, losses averaged over 2 rows first.

    hf download studio-ousia/luke-large --local-dir luke-large
    python -m data.build open_entity --manual-dir DOWNLOADED --output datasets
    luke-jax experiment run experiments/entity_typing.py:luke-large --seeds 1..5
"""

import dataclasses

from luke_jax.models.system import Running
from luke_jax.models.table import SIZES
from luke_jax.pipeline.batches import Data
from luke_jax.tasks.typing.task import EntityTyping
from luke_jax.training.experiment import Experiment, Run
from luke_jax.training.optimizer import Optimizer
from luke_jax.training.overrides import row

DATA = "datasets/open_entity/1.0.0"
LABELS = "entity event group location object organization person place time"
PAPER = {"table": "Table 1: Open Entity, test", "split": "test"}


def large() -> Experiment:
  """Returns the experiment of the first row, from which the others differ."""
  return Experiment(
    model=dataclasses.replace(SIZES["luke-large"], entity_vocab_size=4),
    running=Running(dtype="bfloat16"),
    task=EntityTyping(
      train=f"{DATA}:train",
      dev=f"{DATA}:dev",
      test=f"{DATA}:test",
      text="luke-large",
      authors=True,
      labels=tuple(LABELS.split()),
      words=256,
    ),
    data=Data(batch_size=4, evaluation_batch_size=32),
    optimizer=Optimizer(learning_rate=1e-5, frozen=("luke/pooler",)),
    run=Run(epochs=3, seed=12, start="luke-large", evaluate_every=500, best_metric="f1"),
  )


ROWS = {
  "luke-large": row(large, **PAPER, method="LUKE-large", precision=79.9, recall=76.6, f1=78.2),
  "luke-base": row(
    large,
    *("model=luke-base", "model.entity_vocab_size=4"),
    *("task.text=luke-base", "run.start=luke-base"),
    **PAPER,
    method="LUKE-base",
  ),
  "original-attention": row(
    large,
    "model.use_entity_aware_attention=false",
    **PAPER,
    method="LUKE-large, original attention",
    f1=77.9,
  ),
  # Without entities: the head reads the state of the marker before the mention.
  "roberta-large": row(
    large,
    *("model=roberta-large", "model.vocab_size=50267"),  # with the markers of entities
    *("task.text=roberta-large", "run.start=roberta-large", "optimizer.frozen="),
    **PAPER,
    method="RoBERTa-large",
    precision=77.6,
    recall=75.0,
    f1=76.2,
  ),
}
