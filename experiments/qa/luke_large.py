"""Questions of SQuAD 1.1 with LUKE-large (Table 5 of the paper).

The paper: exact match 89.8, F1 95.0 on the development set, the best of
several runs; batches of 48, 2 epochs, learning rate 1.5e-5, the last state;
42 minutes on 8 V100.

The entities' table is the pretrained one and stays as it is. Entities in the texts come from
task.mentions, a folder of luke-jax wiki mentions (the paper: of the dump of March 2016). Without
them, --set task.mentions=, a run measures no entities, which is another row of the paper.
task.authors has one space before each word, takes stretches from the 20 best starts to the 20 best
ends, and averages losses over 2 rows first, as their code does.

    hf download studio-ousia/luke-large --local-dir luke-large
    luke-jax data build squad --manual-dir DOWNLOADED --output datasets
    luke-jax experiment run experiments/qa/luke_large.py --seeds 1..5
"""

import dataclasses

from luke_jax.models.system import Running
from luke_jax.models.table import SIZES
from luke_jax.pipeline.batches import Data
from luke_jax.tasks.qa.task import QuestionAnswering
from luke_jax.training.experiment import Experiment, Run
from luke_jax.training.optimizer import Optimizer

DATA = "datasets/squad/1.0.0"
PAPER = {
  "table": "Table 5: SQuAD 1.1, dev",
  "method": "LUKE-large",
  "split": "dev",
  "exact_match": 89.8,
  "f1": 95.0,
}


def config() -> Experiment:
  """The experiment."""
  return Experiment(
    model=dataclasses.replace(
      SIZES["luke-large"],
    ),
    running=Running(dtype="bfloat16"),
    task=QuestionAnswering(
      train=f"{DATA}:train",
      dev=f"{DATA}:dev",
      text="luke-large",
      mentions="enwiki-2016",
      authors=True,
      words=512,
      entities=128,
    ),
    data=Data(batch_size=48, evaluation_batch_size=48),
    optimizer=Optimizer(learning_rate=1.5e-5, frozen=("luke/entity_embeddings/entity",)),
    run=Run(epochs=2, seed=14, start="luke-large"),
  )
