"""The sample tasks, with a tiny LUKE of the sample wiki.

    luke-jax experiment run experiments/sample.py:typing --seeds 1..3

It starts from data/sample_model, which pretraining.py:tiny made. What that is worth, what entities
are, and what their attention is:

    --set run.start=null
    --set model.entity_vocab_size=0 --set model.use_entity_aware_attention=false
    --set model.use_entity_aware_attention=false
"""

import dataclasses
from pathlib import Path

from luke_jax.pipeline.batches import Data
from luke_jax.tasks.classification.task import TextClassification
from luke_jax.tasks.cloze.task import ClozeAnswering
from luke_jax.tasks.contract import TextTask
from luke_jax.tasks.ner.task import NamedEntities
from luke_jax.tasks.qa.task import QuestionAnswering
from luke_jax.tasks.relations.task import RelationClassification
from luke_jax.tasks.tagging.task import Tagging
from luke_jax.tasks.typing.task import EntityTyping
from luke_jax.training.experiment import Experiment, Run
from luke_jax.training.experiment_files import Row, load_experiment
from luke_jax.training.optimizer import Optimizer
from luke_jax.training.overrides import row

MODEL = "data/sample_model"
TOPICS = "award event language organization person place species work"
RELATIONS = """
no_relation acted_in born_in citizen_of coaches died_in directed headquartered_in plays_for set_in
studied_at translated wrote
"""
TYPES = """
artist athlete award book building city company country event film language musician organization
person place politician river scientist song species team work writer
"""
NAMES = ("LOC", "MISC", "ORG", "PER")
TAGS = ("O", *(f"{prefix}-{label}" for label in NAMES for prefix in "BI"))


def sample(kind: type[TextTask], *changes: str, files: str = "", **fields: object) -> Row:
  """Returns the row of a task; `changes` are those of its experiment, `fields` the task's."""

  def config() -> Experiment:
    folder = f"data/sample_tasks/{files or kind.name}"
    splits = {split: f"{folder}/{split}.jsonl" for split in ("train", "dev", "test")}
    tiny = load_experiment(Path(__file__).with_name("pretraining.py:tiny"))
    return Experiment(
      model=dataclasses.replace(tiny.model, entity_vocab_size=4),
      task=kind(**splits, text=MODEL, **fields),
      data=Data(batch_size=16, evaluation_batch_size=32),
      optimizer=Optimizer(learning_rate=3e-3, bias_correction=True, frozen=("luke/pooler",)),
      run=Run(epochs=4, start=MODEL, evaluate_every=150, best_metric="f1"),
    )

  return row(config, *changes, table=f"Sample tasks: {kind.name}", method="tiny LUKE", split="test")


ROWS = {
  "typing": sample(EntityTyping, labels=tuple(TYPES.split()), words=64),
  "relations": sample(RelationClassification, labels=tuple(RELATIONS.split()), words=64),
  "ner": sample(NamedEntities, "run.epochs=1.5", labels=("NIL", *NAMES), words=128, entities=64),
  # The same with a tag for every word; this head has no pooler. With a conditional random field:
  # --set task.crf=true
  "tagging": sample(
    Tagging, "run.epochs=1.5", "optimizer.frozen=", files="ner", labels=TAGS, words=128
  ),
  "cloze": sample(
    ClozeAnswering,
    "model.vocab_size=2005",  # with the markers of the task
    *("run.epochs=6", "run.log_every=20", "run.best_metric=exact_match"),
    words=128,
    entities=32,
  ),
  "qa": sample(
    QuestionAnswering,
    *("model.entity_vocab_size=301", "optimizer.frozen="),
    *("run.epochs=5", "run.evaluate_every=155"),
    words=128,
    entities=32,
  ),
  "classification": sample(
    TextClassification,
    *("optimizer.frozen=", "run.epochs=6", "run.evaluate_every=45", "run.best_metric=accuracy"),
    labels=tuple(TOPICS.split()),
    words=64,
  ),
}
