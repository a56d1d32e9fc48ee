"""Cloze questions of ReCoRD with LUKE-large (Table 4 of the paper).

The paper: exact match 90.8, F1 91.4 on the development set, the best of
several runs; batches of 32, 2 epochs, learning rate 1e-5, best epoch on the development set;
92 minutes on 8 V100.

task.authors reads the first 90 pieces of a query and averages losses over each row first, as their
code does. It also reads some text twice, see docs/differences.md.

    hf download studio-ousia/luke-large --local-dir luke-large
    luke-jax data build record --manual-dir DOWNLOADED --output datasets
    luke-jax experiment run experiments/cloze/luke_large.py --seeds 1..5
"""

import dataclasses

from luke_jax.models.system import Running
from luke_jax.models.table import SIZES
from luke_jax.pipeline.batches import Data
from luke_jax.tasks.cloze.task import ClozeAnswering
from luke_jax.training.experiment import Experiment, Run
from luke_jax.training.optimizer import Optimizer

DATA = "datasets/record/1.0.0"
PAPER = {
  "table": "Table 4: ReCoRD, dev",
  "method": "LUKE-large",
  "split": "dev",
  "exact_match": 90.8,
  "f1": 91.4,
}


def config() -> Experiment:
  """The experiment."""
  return Experiment(
    model=dataclasses.replace(
      SIZES["luke-large"],
      vocab_size=50270,  # with the markers of the task
      entity_vocab_size=4,
    ),
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
