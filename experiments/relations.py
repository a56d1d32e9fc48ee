"""Relation classification on TACRED: table 2 of the paper, and its row of table 7.

The paper's scores are the best of several runs; batches of 32, 5 epochs, learning rate 1e-5, best
epoch on the development set; 190 minutes on a V100. task.authors reads texts and averages losses as
their code does: a space before every piece of text, losses averaged over 4 rows first.

    hf download studio-ousia/luke-large --local-dir luke-large
    python -m data.build tacred --manual-dir DOWNLOADED --output datasets
    luke-jax experiment run experiments/relations.py:luke-large --seeds 1..5
"""

import dataclasses

from luke_jax.models.system import Running
from luke_jax.models.table import SIZES
from luke_jax.pipeline.batches import Data
from luke_jax.tasks.relations.task import RelationClassification
from luke_jax.training.experiment import Experiment, Run
from luke_jax.training.optimizer import Optimizer
from luke_jax.training.overrides import row

DATA = "datasets/tacred/1.0.0"
LABELS = """
no_relation org:alternate_names org:city_of_headquarters org:country_of_headquarters org:dissolved
org:founded org:founded_by org:member_of org:members org:number_of_employees/members org:parents
org:political/religious_affiliation org:shareholders org:stateorprovince_of_headquarters
org:subsidiaries org:top_members/employees org:website per:age per:alternate_names
per:cause_of_death per:charges per:children per:cities_of_residence per:city_of_birth
per:city_of_death per:countries_of_residence per:country_of_birth per:country_of_death
per:date_of_birth per:date_of_death per:employee_of per:origin per:other_family per:parents
per:religion per:schools_attended per:siblings per:spouse per:stateorprovince_of_birth
per:stateorprovince_of_death per:stateorprovinces_of_residence per:title
"""
PAPER = {"table": "Table 2: TACRED, test", "split": "test"}


def large() -> Experiment:
  """Returns the experiment of the first row, from which the others differ."""
  return Experiment(
    model=dataclasses.replace(SIZES["luke-large"], entity_vocab_size=4),
    running=Running(dtype="bfloat16"),
    task=RelationClassification(
      train=f"{DATA}:train",
      dev=f"{DATA}:dev",
      test=f"{DATA}:test",
      text="luke-large",
      authors=True,
      labels=tuple(LABELS.split()),
      words=256,
    ),
    data=Data(batch_size=32, evaluation_batch_size=128),
    optimizer=Optimizer(learning_rate=1e-5, frozen=("luke/pooler",)),
    run=Run(epochs=5, seed=42, start="luke-large", evaluate_every=2129, best_metric="f1"),
  )


ROWS = {
  "luke-large": row(large, **PAPER, method="LUKE-large", precision=70.4, recall=75.1, f1=72.7),
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
    f1=72.2,
  ),
  # Without entities: the head reads the states of the markers before the two mentions.
  "roberta-large": row(
    large,
    *("model=roberta-large", "model.vocab_size=50267"),  # with the markers of entities
    *("task.text=roberta-large", "run.start=roberta-large", "optimizer.frozen="),
    **PAPER,
    method="RoBERTa-large",
    precision=70.2,
    recall=72.4,
    f1=71.3,
  ),
}
