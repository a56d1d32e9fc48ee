"""Linking of MSNBC, trained on links of Wikipedia and on no news, in the order of confidence.

Yamada et al. (2022), Global Entity Disambiguation with BERT: F1 96.3 (`f1`, micro), by a listing of
results. The model is that of ../pretraining/disambiguation.py, a candidate's vector is its row of
that model's table, and names that are settled are read as their rows. Here a head that is trained
on links compares both; theirs is that of the pretraining. docs/howto/linking.md says what else
differs. The files are Ganea and Hofmann's, as Le and Titov packed them, in one folder: the tables
of generated/test_train_data, the texts of basic_data/test_datasets, and persons.txt.

    luke-jax entities describe tables --output knowledge --examples 100000
    luke-jax export runs/linking linking-model
    python experiments/linkers/table.py linking-model knowledge rows
    luke-jax experiment run experiments/linking/msnbc.py --seeds 1..3
"""

import dataclasses
from pathlib import Path

from luke_jax.models.system import Running
from luke_jax.pipeline.batches import Data
from luke_jax.tasks.linking.task import EntityLinking
from luke_jax.training.experiment import Experiment, Run, load_experiment
from luke_jax.training.optimizer import Optimizer, Schedule

PAPER = {"table": "Yamada et al. 2022: MSNBC", "method": "global", "split": "test", "f1": 96.3}


def config() -> Experiment:
  """The experiment."""
  pretrained = load_experiment(Path(__file__).parents[1] / "pretraining" / "disambiguation.py")
  return Experiment(
    model=dataclasses.replace(pretrained.model, entity_vocab_size=4),
    running=Running(dtype="bfloat16"),
    task=EntityLinking(
      train="rows/train.jsonl",
      dev="rows/dev.jsonl",
      test="ganea/wned-msnbc.csv",
      text="linking-model",
      knowledge="rows",
      words=512,
      candidates=30,
      rounds=0,
      steps=128,  # one name after the other
      refuse=False,
    ),
    data=Data(batch_size=16, evaluation_batch_size=32),
    optimizer=Optimizer(learning_rate=2e-5, beta2=0.999, max_gradient_norm=1.0),
    schedule=Schedule(warmup_ratio=0.1),
    run=Run(epochs=2, start="linking-model", best_metric="accuracy"),
  )
