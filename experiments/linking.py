"""Linking as in Yamada et al. (2022), Global Entity Disambiguation with BERT.

`f1`, micro, by a listing of results; of AIDA the accuracy. The model is that of
pretraining.py:disambiguation, a candidate's vector is its row of that model's table, and names that
are settled are read as their rows, in the order of confidence. Here a head that is trained on links
of Wikipedia, and on no news, compares both; theirs is that of the pretraining.
docs/howto/linking.md says what else differs. The files are Ganea and Hofmann's, as Le and Titov
packed them, in one folder: the tables of generated/test_train_data, the texts of
basic_data/test_datasets, and persons.txt.

    python -m data.linking.make ganea/*.csv --output ganea
    luke-jax entities describe tables --output knowledge --examples 100000
    luke-jax export runs/linking linking-model
    python experiments/linkers/table.py linking-model knowledge rows
    luke-jax experiment run experiments/linking.py:msnbc --seeds 1..3 --output results/msnbc

All of them but aida, which fine-tunes the model of msnbc, are one model: `luke-jax evaluate linking
results/msnbc/seed-1/model ganea/wned-ace2004.jsonl` scores it on another test set.
"""

import dataclasses
from pathlib import Path

from luke_jax.models.system import Running
from luke_jax.pipeline.batches import Data
from luke_jax.tasks.linking.task import EntityLinking
from luke_jax.training.experiment import Experiment, Run
from luke_jax.training.experiment_files import Row, load_experiment
from luke_jax.training.optimizer import Optimizer, Schedule
from luke_jax.training.overrides import row


def linking() -> Experiment:
  """Returns the experiment of all rows."""
  pretrained = load_experiment(Path(__file__).with_name("pretraining.py:disambiguation"))
  return Experiment(
    model=dataclasses.replace(pretrained.model, entity_vocab_size=4),
    running=Running(dtype="bfloat16"),
    task=EntityLinking(
      train="rows/train.jsonl",
      dev="rows/dev.jsonl",
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


def tested(file: str, table: str, *changes: str, **scores: float) -> Row:
  """Returns the row of a test set."""
  paper = {"table": f"Yamada et al. 2022: {table}", "method": "global", "split": "test"}
  return row(linking, f"task.test=ganea/{file}.jsonl", *changes, **paper, **scores)


ROWS = {
  "msnbc": tested("wned-msnbc", "MSNBC", f1=96.3),
  "aquaint": tested("wned-aquaint", "AQUAINT", f1=93.5),
  "ace2004": tested("wned-ace2004", "ACE2004", f1=91.9),
  "clueweb": tested("wned-clueweb", "WNED-CWEB", f1=78.9),
  "wikipedia": tested("wned-wikipedia", "WNED-WIKI", f1=89.1),
  # Theirs is another model. Their loss is a mean over names and padding: task.padded_mean.
  "aida": tested(
    "aida_testB",
    "AIDA, testB",
    *(
      "task.train=ganea/aida_train.jsonl",
      "task.dev=ganea/aida_testA.jsonl",
      "task.padded_mean=true",
    ),
    "run.start=results/msnbc/seed-1/model",
    accuracy=95.0,
  ),
}
