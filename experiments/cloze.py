"""Cloze questions of ReCoRD: table 4 of the paper, and its row of table 7.

The paper's scores are the best of several runs; batches of 32, 2 epochs, learning rate 1e-5, best
epoch on the development set; 92 minutes on 8 V100. task.authors reads the first 90 pieces of a
query and averages losses over each row first, as their code does. It also reads some text twice,
see docs/differences.md.

    hf download studio-ousia/luke-large --local-dir luke-large
    python -m data.build record --manual-dir DOWNLOADED --output datasets
    luke-jax experiment run experiments/cloze.py:luke-large --seeds 1..5
"""

import dataclasses

from luke_jax.models.system import Running
from luke_jax.models.table import SIZES
from luke_jax.pipeline.batches import Data
from luke_jax.tasks.cloze.task import ClozeAnswering
from luke_jax.training.experiment import Experiment, Run
from luke_jax.training.optimizer import Optimizer
from luke_jax.training.overrides import row

DATA = "datasets/record/1.0.0"
MARKED = "model.vocab_size=50270"  # with the markers of the task
PAPER = {"table": "Table 4: ReCoRD, dev", "split": "dev"}


def large() -> Experiment:
  """Returns the experiment of the first row, from which the others differ."""
  return Experiment(
    model=dataclasses.replace(SIZES["luke-large"], entity_vocab_size=4),
    running=Running(dtype="bfloat16"),
    task=ClozeAnswering(
      train=f"{DATA}:train",
      dev=f"{DATA}:dev",
      text="luke-large",
      authors=True,
      words=512,
      entities=128,
    ),
    data=Data(batch_size=32, evaluation_batch_size=32),
    optimizer=Optimizer(learning_rate=1e-5, frozen=("luke/pooler",)),
    run=Run(epochs=2, seed=4, start="luke-large", evaluate_every=3200, best_metric="exact_match"),
  )


ROWS = {
  "luke-large": row(large, MARKED, **PAPER, method="LUKE-large", exact_match=90.8, f1=91.4),
  "luke-base": row(
    large,
    *("model=luke-base", MARKED, "model.entity_vocab_size=4"),
    *("task.text=luke-base", "run.start=luke-base"),
    **PAPER,
    method="LUKE-base",
  ),
  "original-attention": row(
    large,
    *(MARKED, "model.use_entity_aware_attention=false"),
    **PAPER,
    method="LUKE-large, original attention",
    exact_match=90.1,
    f1=90.7,
  ),
  # Without entities: the head reads the placeholder and the markers before the candidates.
  "roberta-large": row(
    large,
    *("model=roberta-large", "model.vocab_size=50268"),  # with the task's three words
    *("task.text=roberta-large", "run.start=roberta-large", "optimizer.frozen="),
    **PAPER,
    method="RoBERTa-large",
    exact_match=89.0,
    f1=89.5,
  ),
}
