"""Classification of texts as the engine trains it: one row for each text or pair of texts."""

import collections
import contextlib
import dataclasses
import itertools
import warnings
from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar, Literal, Self

import jax
import jax.numpy as jnp
import numpy as np

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.formats.files import COMMON, Faults
from luke_jax.heads.attributes import UNKNOWN, Attributes, AttributesHead
from luke_jax.heads.kinds import make_head
from luke_jax.models.network import Network
from luke_jax.models.system import Backbone
from luke_jax.nn.losses import IGNORED, target_weights
from luke_jax.pipeline.reads import cached
from luke_jax.tasks.classification import files, score
from luke_jax.tasks.classification.files import TextExample
from luke_jax.tasks.classification.forms import FIELDS, form_of
from luke_jax.tasks.contract import RowLogits, TextTask
from luke_jax.tasks.evaluation import Evaluation
from luke_jax.tasks.label_checks import check_label
from luke_jax.tasks.predictions import Label, Labels, Number
from luke_jax.tasks.running import read_examples
from luke_jax.text import Processor, Row
from luke_jax.text.parts import Part, longest_first
from luke_jax.text.rows import Sizes, enclosed
from luke_jax.training.task import Batch

Target = Literal["label", "labels", "number"]
METRICS: Mapping[Target, str] = {"label": "accuracy", "labels": "micro_f1", "number": "pearson"}
# As config.json of transformers has the targets.
PROBLEMS: Mapping[Target, str] = {
  "label": "single_label_classification",
  "labels": "multi_label_classification",
  "number": "regression",
}
PROBLEM, NUMBER = "problem_type", "number"
IDS = "attribute_ids"  # of a row's `extra`
_SHOWN = 3  # unknown values in a warning


@dataclasses.dataclass(frozen=True)
class TextClassification(TextTask[TextExample, Any]):
  """Gives a text, or a pair of texts, one label, several labels or a number."""

  labels: tuple[str, ...] = ()  # none: those of the training file
  target: Target = "label"  # one label, several labels (or none), or a number
  words: int = 512  # the longest row
  # Word pieces of the beginning and the end of a text that is too long, such as 128,382. Without
  # it such a text is read from the beginning.
  keep: tuple[int, ...] = ()
  pooling: Literal["first", "mean"] = "first"  # words' states that labels are read from
  threshold: float = 0.5  # of several labels: the probability above which one is predicted
  positive: str = ""  # the label whose F1 and ranking count; "": that of 0 and 1 which is 1
  # Attributes that texts have beside their words, such as a user.
  attributes: Attributes = dataclasses.field(default_factory=Attributes)
  columns: tuple[str, ...] = ()  # of files: field=column for each, or a benchmark, such as mnli

  name: ClassVar[str] = "classification"
  answer: ClassVar[type | None] = Label
  heads: ClassVar[tuple[str, ...]] = ("text", "mean_text", "attributes")

  def __post_init__(self) -> None:
    super().__post_init__()
    form_of(self.columns, self.attributes.names)
    for name in self.attributes.names:
      if name in (*FIELDS, *COMMON):
        raise InputError(f"attributes.names: {name!r}: a field of files; expected another name")
    if self.keep and (len(self.keep) != 2 or min(self.keep) < 0 or not sum(self.keep)):
      lengths = ",".join(map(str, self.keep))
      raise InputError(f"keep: {lengths!r}; expected two numbers of word pieces, such as 128,382")
    if self.attributes.names and self.pooling != "first":
      raise InputError("pooling: mean; expected first for texts with attributes")
    if not 0 <= self.threshold < 1:
      raise InputError(f"threshold: {self.threshold!r}; expected a probability")
    if self.labels and (len(self.labels) == 1) != (self.target == "number"):
      expected = "one" if self.target == "number" else "two or more"
      raise InputError(f"labels: {len(self.labels)}; expected {expected}, as target={self.target}")
    if self.positive and self.labels and self.positive not in self.labels:
      names = ", ".join(self.labels)
      raise InputError(f"positive: {self.positive!r}: no label; expected one of {names}")

  to_json = staticmethod(files.to_json)

  def summary(self, examples: Sequence[TextExample]) -> Sequence[str]:
    """Returns how many values each attribute has."""
    values = zip(*(x.attributes for x in examples), strict=True)
    return [
      f"{name}: {len(set(of_one))} values"
      for name, of_one in zip(self.attributes.names, values, strict=False)
    ]

  def own_data(self, pools_means: bool, given: Collection[str]) -> Mapping[str, object]:
    """Returns settings that suit people's files: means of states of a start made for these."""
    with_attributes = any(name.startswith("attributes") for name in given)
    return {"pooling": "mean"} if pools_means and not with_attributes else {}

  def with_threshold(self, least: float) -> Self:
    """Returns the task with all labels of this probability or more."""
    return dataclasses.replace(self, threshold=least)

  @property
  def sizes(self) -> Sizes:
    """Returns a row's room for words, for entities and for the pieces of a mention."""
    return Sizes(self.words, 1, 1)

  @property
  def head(self) -> str:
    """Returns the kind of head."""
    of_words = "text" if self.pooling == "first" else "mean_text"
    return "attributes" if self.attributes.names else of_words

  @property
  def known_attributes(self) -> Attributes:
    """Returns the attributes with their values, by default those of the training file."""
    if self.attributes.values or not self.attributes.names:
      return self.attributes
    if not self.train:
      raise InputError(
        "task.train: empty; expected the file that attributes have their values from"
      )
    # Without what differs in the course of preparing a run, so that the file is read once.
    return _with_values(
      dataclasses.replace(self, labels=(), words=512, dev="", test="", text="", positive="")
    )

  def network(self, backbone: Backbone) -> Network:
    """Returns a backbone with the task's head."""
    count = len(self.labels) or 2
    if self.attributes.names:
      return Network(backbone, AttributesHead.fresh(backbone, count, self.known_attributes))
    return Network(backbone, make_head(self.head, backbone, labels=count))

  @property
  def metric(self) -> str:  # pyrefly: ignore[bad-override]
    """Returns the metric that selects a checkpoint."""
    return METRICS[self.target]

  @property
  def config_entries(self) -> Mapping[str, object]:
    """Returns the entries of config.json by which transformers knows the target."""
    return {PROBLEM: PROBLEMS[self.target]}

  @staticmethod
  def settings_from(entries: Mapping[str, object], labels: Sequence[str]) -> dict[str, object]:
    """Returns the settings of a model of transformers, from its config.json and its labels."""
    problem = entries.get(PROBLEM) or (PROBLEMS["number"] if len(labels) == 1 else None)
    return {"target": next((x for x, name in PROBLEMS.items() if name == problem), "label")}

  def read(self, path: Path, faults: Faults) -> list[TextExample]:
    """Reads the examples of a file."""
    return files.read(path, faults, self.columns, self.attributes.names)

  def parse(self, value: Mapping[str, object], id: str, place: str) -> TextExample:
    """Returns the example in an object of JSON lines."""
    return files.parse(value, id, place, self.columns, attributes=self.attributes.names)

  def found_labels(self, examples: Sequence[TextExample]) -> tuple[str, ...]:
    """Returns the labels of a file: whole numbers in their order, others in alphabetical order."""
    if self.target == "number":
      return (NUMBER,)
    labels = sorted({label for example in examples for label in example.labels or ()})
    lacking = next((example for example in examples if example.labels is None), None)
    if len(labels) < 2 and lacking:
      raise InputError(f"{lacking.place}: label: missing; expected label, or labels")
    if len(labels) < 2:
      names = ", ".join(labels) or "none"
      raise InputError(f"{self.train}: labels: {names}; expected two or more, to tell apart")
    return tuple(sorted(labels, key=int) if score.in_numbers(labels) else labels)

  def spread_by(self, example: TextExample) -> tuple[object, Collection[str]]:
    """Returns the question or the text of an example, and its labels."""
    labels = () if self.target == "number" else example.labels or ()
    return example.qid or (example.text, example.text_pair), labels

  def check_example(self, example: TextExample) -> None:
    """Refuses one without an answer that the model knows."""
    if self.target == "number":
      files.number_in(example)
      return
    one = self.target == "label"
    for label in [score.gold_label(example)] if one else sorted(score.gold_labels(example)):
      check_label(label, self.labels, example.place)

  def features(
    self, processor: Processor, examples: Sequence[TextExample], faults: Faults | None = None
  ) -> list[Row]:
    """A row for each example."""
    numbers = {label: number for number, label in enumerate(self.labels)}
    rows = features(processor, examples, self.keep)
    if self.attributes.names:
      rows = with_ids(rows, examples, self.known_attributes)
    return [row.labelled(self._target(examples[row.example], numbers)) for row in rows]

  def _target(self, example: TextExample, numbers: Mapping[str, int]) -> np.ndarray | None:
    """Returns an example's answer as an array, None if it has none that the model knows."""
    if self.target == "number":
      with contextlib.suppress(InputError):  # prediction needs no answers
        return np.array(files.number_in(example), np.float32)
      return None
    if example.labels is None:
      return None
    if self.target == "labels":
      return np.array([label in example.labels for label in numbers], np.int32)
    ids = [numbers[label] for label in example.labels if label in numbers]
    return np.array(ids[0], np.int32) if len(ids) == 1 else None

  def label_shape(self, sizes: Sizes) -> tuple[int, ...]:
    """Returns the shape of a row's label: 0 or 1 for each of several, or a single number."""
    return (len(self.labels),) if self.target == "labels" else ()

  @property
  def label_dtype(self) -> type[np.number]:
    """Returns the type of the labels of rows."""
    return np.float32 if self.target == "number" else np.int32

  def weights(self, batch: Batch) -> jax.Array:
    """Returns the weights of a batch's labels; no number means that there is none."""
    labels = batch["labels"]
    return target_weights(labels != IGNORED if self.target != "number" else jnp.isfinite(labels))

  def decode(
    self, examples: Sequence[TextExample], rows: Sequence[Row], outputs: RowLogits
  ) -> list[Labels | Number]:
    """Returns the labels of each text, the most probable first, or its number."""
    logits = [np.asarray(outputs["logits"][i], np.float64) for i in range(len(rows))]
    if self.target == "number":
      return [Number(float(row[0])) for row in logits]
    return [self._labels(row[: len(self.labels)]) for row in logits]

  def _labels(self, logits: np.ndarray) -> Labels:
    one = self.target == "label"
    logs = logits - np.logaddexp.reduce(logits) if one else -np.logaddexp(0, -logits)
    scores = np.exp(logs)
    order = np.argsort(-logits, kind="stable")
    chosen = order[:1] if one else [i for i in order if scores[i] > self.threshold]
    labels = tuple(Label(self.labels[i], float(scores[i])) for i in chosen)
    return Labels(labels, dict(zip(self.labels, scores.tolist(), strict=True)))

  def evaluate(self, examples: Sequence[TextExample], predictions: Sequence[Any]) -> Evaluation:
    """Returns the scores, which depend on the target, and the figures around them."""
    if self.target == "number":
      return score.evaluate_numbers(examples, predictions)
    if self.target == "labels":
      return score.evaluate_sets(examples, predictions, self.labels)
    positive = score.positive_of(self.labels, self.positive)
    return score.evaluate(examples, predictions, positive)

  def to_prediction(self, example: TextExample, prediction: Labels | Number) -> dict[str, object]:
    """Returns an example's line in a file of predictions."""
    if isinstance(prediction, Number):
      return {"id": example.id, "number": round(prediction.value, 4)}
    scores = {name: round(x, 4) for name, x in prediction.scores.items()}
    names = [x.label for x in prediction]
    answer = {"labels": names} if self.target == "labels" else {"label": prediction.label}
    return {"id": example.id, **answer, "scores": scores}


@cached(4)
def _with_values(task: TextClassification) -> Attributes:
  """Returns a task's attributes with their values in its training file, the most frequent first."""
  examples = read_examples(task, task.train, Faults(skip=task.skip_bad))
  columns = zip(*(example.attributes for example in examples), strict=True)
  values = tuple(_by_frequency(column) for column in columns)
  return dataclasses.replace(task.attributes, values=values)


def _by_frequency(column: Sequence[str]) -> tuple[str, ...]:
  counts = collections.Counter(value for value in column if value != UNKNOWN)
  return tuple(sorted(counts, key=lambda value: (-counts[value], value)))


def with_ids(
  rows: Sequence[Row], examples: Sequence[TextExample], attributes: Attributes
) -> list[Row]:
  """Returns rows with the numbers of their examples' values; warns of values without a vector."""
  ids = np.zeros((len(examples), len(attributes.names)), np.int32)
  for i, (name, values) in enumerate(zip(attributes.names, attributes.known, strict=True)):
    numbers = {value: number for number, value in enumerate((UNKNOWN, *values))}
    ids[:, i] = [numbers.get(example.attributes[i], 0) for example in examples]
    unseen = [x.attributes[i] for x in examples if x.attributes[i] not in numbers]
    if new := list(dict.fromkeys(unseen)):
      shown = ", ".join(new[:_SHOWN]) + (", …" if len(new) > _SHOWN else "")
      warnings.warn(
        f"{name}: {len(new)} not seen in training ({shown}), of {len(unseen)} of {len(examples)}"
        f" texts, which are read as of an unknown {name}",
        stacklevel=4,
      )
  return [dataclasses.replace(row, extra={IDS: ids[row.example]}) for row in rows]


def features(
  processor: Processor, examples: Sequence[TextExample], keep: Sequence[int]
) -> list[Row]:
  """Returns a row for each example; warns of the word pieces that no row has.

  `keep` are the pieces to read of the beginning and of the end of a text that is too long; by
  default it is read from the beginning. Of a pair the longer text is cut first, each in the
  proportion of the two numbers.
  """
  texts = [[x.text] if x.text_pair is None else [x.text, x.text_pair] for x in examples]
  tokens = iter(processor.tokenizer.encode(list(itertools.chain.from_iterable(texts))))
  special, rows, missing = processor.tokenizer.special, [], []
  for number, pair in enumerate(texts):
    ids = [encoded.ids for encoded in itertools.islice(tokens, len(pair))]
    room = processor.max_length - special.around(len(pair))
    if keep and sum(map(len, ids)) > room:
      room = min(room, sum(keep))
    lengths = longest_first(list(map(len, ids)), room)
    shortened = [_shortened(part, length, keep) for part, length in zip(ids, lengths, strict=True)]
    missing.append(sum(map(len, ids)) - sum(lengths))
    rows.append(enclosed([Part(part, [], []) for part in shortened], special, number))
  if any(missing):
    warnings.warn(
      f"{np.count_nonzero(missing)} of {len(examples)} texts are longer than their rows:"
      f" {sum(missing)} of their word pieces are not read; task.words and task.keep choose which",
      stacklevel=3,
    )
  return rows


def _shortened(ids: list[int], length: int, keep: Sequence[int]) -> list[int]:
  """Returns as many pieces of a text, of its beginning or, by `keep`, of its two ends."""
  if len(ids) <= length:
    return ids
  last = length * keep[1] // sum(keep) if keep else 0
  return ids[: length - last] + ids[len(ids) - last :]
