"""Named entities in CoNLL-2003 with LUKE-large (Table 3 of the paper).

The paper: F1 94.3 on the test set, the best of
several runs; batches of 8, 5 epochs, learning rate 1e-5, the last state;
203 minutes on a V100.

Each sentence is read in the middle of its document, with up to 128 of its spans at a time.
task.authors takes candidates of up to 16 word pieces, as their code does, and not of 16 words; it
averages losses over 2 rows first.

    hf download studio-ousia/luke-large --local-dir luke-large
    luke-jax data build conll2003 --manual-dir DOWNLOADED --output datasets
    luke-jax experiment run experiments/ner/luke_large.py --seeds 1..5
"""

import dataclasses

from luke_jax.models.system import Running
from luke_jax.models.table import SIZES
from luke_jax.pipeline.batches import Data
from luke_jax.tasks.ner.task import NamedEntities
from luke_jax.training.experiment import Experiment, Run
from luke_jax.training.optimizer import Optimizer

DATA = "datasets/conll2003/1.0.0"
LABELS = (
  "NIL",
  "MISC",
  "PER",
  "ORG",
  "LOC",
)

PAPER = {
  "table": "Table 3: CoNLL-2003, test",
  "method": "LUKE-large",
  "split": "test",
  "f1": 94.3,
}


def config() -> Experiment:
  """The experiment."""
  return Experiment(
    model=dataclasses.replace(
      SIZES["luke-large"],
      entity_vocab_size=4,
    ),
    running=Running(dtype="bfloat16"),
    task=NamedEntities(
      train=f"{DATA}:train",
      dev=f"{DATA}:dev",
      test=f"{DATA}:test",
      text="luke-large",
      authors=True,
      labels=LABELS,
      words=512,
      entities=128,
    ),
    data=Data(batch_size=8, evaluation_batch_size=32),
    optimizer=Optimizer(learning_rate=1e-5, frozen=("luke/pooler",)),
    run=Run(epochs=5, seed=35, start="luke-large"),
  )
