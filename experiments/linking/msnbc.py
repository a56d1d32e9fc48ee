"""Linking of MSNBC with LUKE-base, trained on links of Wikipedia and on no news.

Yamada et al. (2022), Global Entity Disambiguation with BERT: F1 96.3 (`f1`, micro), by a listing of
results. Theirs is another model: it reads BERT's words, scores a candidate by its row of the entity
table, and decides in the order of confidence. docs/howto/linking.md says what of theirs is here.
The files are Ganea and Hofmann's, as Le and Titov packed them, in one folder: the tables of
generated/test_train_data, the texts of basic_data/test_datasets, and persons.txt.

    hf download studio-ousia/luke-base --local-dir luke-base
    luke-jax entities describe tables --output knowledge --examples 100000
    luke-jax experiment run experiments/linking/msnbc.py --seeds 1..3
"""

import dataclasses

from luke_jax.models.system import Running
from luke_jax.models.table import SIZES
from luke_jax.pipeline.batches import Data
from luke_jax.tasks.linking.task import EntityLinking
from luke_jax.training.experiment import Experiment, Run
from luke_jax.training.optimizer import Optimizer, Schedule

PAPER = {"table": "Yamada et al. 2022: MSNBC", "method": "global", "split": "test", "f1": 96.3}


def config() -> Experiment:
  """The experiment."""
  return Experiment(
    model=dataclasses.replace(SIZES["luke-base"], entity_vocab_size=4),
    running=Running(dtype="bfloat16"),
    task=EntityLinking(
      train="knowledge/train.jsonl",
      dev="knowledge/dev.jsonl",
      test="ganea/wned-msnbc.csv",
      text="luke-base",
      knowledge="knowledge",
      words=512,
      candidates=30,
      refuse=False,
    ),
    data=Data(batch_size=16, evaluation_batch_size=32),
    optimizer=Optimizer(
      learning_rate=2e-5, beta2=0.999, max_gradient_norm=1.0, frozen=("luke/pooler",)
    ),
    schedule=Schedule(warmup_ratio=0.1),
    run=Run(epochs=2, start="luke-base", best_metric="accuracy"),
  )
