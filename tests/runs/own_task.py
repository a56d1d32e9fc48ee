"""An experiment with a task of its own: the language of a text, read off its first word."""

import dataclasses
from pathlib import Path
from typing import ClassVar

import flax.linen as nn

from luke_jax.errors import InputError
from luke_jax.formats.files import Faults, check_fields, read_text, string
from luke_jax.formats.records import read_records
from luke_jax.models.head import LabelHead
from luke_jax.models.network import Network
from luke_jax.models.table import SIZES
from luke_jax.nn import losses
from luke_jax.nn.layers import Dense
from luke_jax.pipeline.batches import Data
from luke_jax.tasks.contract import TextTask
from luke_jax.tasks.evaluation import Evaluation
from luke_jax.tasks.label_checks import check_label
from luke_jax.text import TextInput
from luke_jax.text.rows import Sizes
from luke_jax.training.experiment import Experiment, Run
from luke_jax.training.optimizer import Optimizer

HERE = Path(__file__).parent


@dataclasses.dataclass(frozen=True)
class Labelled:
  """A text and its label, None where it is not known."""

  id: str
  place: str
  text: str
  label: str | None


class FirstWordHead(LabelHead):
  """Labels of a text, from the state of its first word alone."""

  kind: ClassVar[str] = "first_word"

  @nn.compact
  def __call__(self, states, tables):
    """Returns logits (B, C)."""
    return {"logits": Dense(self.numerics, (self.labels,), name="language")(states.words[:, 1])}

  def loss(self, outputs, labels, weights=None):
    """Returns the mean loss of class numbers (B,), or their weighted sum."""
    return losses.cross_entropy(outputs["logits"], labels, weights)


@dataclasses.dataclass(frozen=True)
class Languages(TextTask):
  """Finds the language of texts."""

  words: int = 16
  certain: float = 0.0  # probability below which no language is given

  name: ClassVar[str] = "languages"
  heads: ClassVar[tuple[str, ...]] = ("first_word",)
  metric: ClassVar[str] = "accuracy"

  @property
  def sizes(self):
    """Returns a row's room: for words alone."""
    return Sizes(self.words, 1, 1)

  def network(self, backbone):
    """Returns a backbone with the head of this task."""
    return Network(backbone, FirstWordHead(backbone.numerics, len(self.labels)))

  def read(self, path, faults):
    """Returns the examples of a file of JSON lines."""
    return read_records(path, self.parse, faults)

  def parse(self, value, id, place):
    """Returns the example of an object of JSON lines."""
    check_fields(value, ("label",), place)
    label = string(value, "label", place) if "label" in value else None
    return Labelled(id, place, read_text(value, place).text, label)

  def found_labels(self, examples):
    """Returns the labels of a file."""
    return tuple(sorted({example.label for example in examples}))

  def check_example(self, example):
    """Refuses an example without a label that the model knows."""
    check_label(example.label or "", self.labels, example.place)

  def features(self, processor, examples, faults=None):
    """Returns a row for each example."""
    rows = processor.encode([TextInput(example.text) for example in examples], truncation=True)
    labels = [self.labels.index(x.label) if x.label else None for x in examples]
    return [row.labelled(labels[row.example]) for row in rows]

  def label_shape(self, sizes):
    """Returns the shape of a row's label, a number."""
    return ()

  def decode(self, examples, rows, outputs):
    """Returns the label of each example."""
    return [self.labels[int(outputs["logits"][i].argmax())] for i, _ in enumerate(examples)]

  def evaluate(self, examples, predictions):
    """Returns the share of right labels."""
    right = [x.label == label for x, label in zip(examples, predictions, strict=True)]
    return Evaluation({"accuracy": sum(right) / max(1, len(right))})

  def to_prediction(self, example, prediction):
    """Returns the line of an example in a file of predictions."""
    return {"id": example.id, "label": prediction}


def config() -> Experiment:
  """The experiment, on the files that the test writes beside it."""
  if not (HERE / "train.jsonl").exists() and not Faults().skip:
    raise InputError(f"{HERE / 'train.jsonl'}: no such file; expected what the test writes")
  task = Languages(
    train=str(HERE / "train.jsonl"),
    dev=str(HERE / "dev.jsonl"),
    text=str(HERE / "start"),
    labels=("de", "en"),
  )
  small = {"vocab_size": 2002, "hidden_size": 16, "num_attention_heads": 2}
  small |= {"intermediate_size": 32, "num_hidden_layers": 1, "entity_vocab_size": 4}
  return Experiment(
    model=dataclasses.replace(SIZES["tiny"], entity_emb_size=8, **small),
    task=task,
    data=Data(batch_size=8, evaluation_batch_size=8),
    optimizer=Optimizer(learning_rate=1e-2, bias_correction=True),
    run=Run(steps=30, save_every=15, best_metric="accuracy", start=str(HERE / "start")),
  )
