"""Texts to typed predictions, a chunk at a time."""

import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from luke_jax.convert.parts import ModelParts
from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.formats.files import Faults
from luke_jax.inference.batches import CompiledShapes, outputs, shapes_of
from luke_jax.inference.settings import Calibration, processor_of, task_of
from luke_jax.inference.text_vectors import label_settings
from luke_jax.models.head import LabelHead
from luke_jax.tasks.contract import Example, Prediction, ReadExamples, TextTask
from luke_jax.tasks.predictions import Labels, Number, Relation, TaggedSpans, Types
from luke_jax.tasks.running import check_inputs
from luke_jax.text import Row
from luke_jax.text.alignment import Linker
from luke_jax.text.unknown import counted

CHUNK = 256  # examples that are in memory together
LEAST_SCORE_TOLD = 0.001  # score of an answer that is ever told


def check_share(name: str, value: object) -> None:
  """Raises InputError for what is neither None nor a number from 0 to 1."""
  if value is not None and not (isinstance(value, int | float | np.number) and 0 <= value <= 1):
    raise InputError(f"{name}: {value!r:.60}; expected a number from 0 to 1")


class Abstaining:
  """A task that answers nothing of a score below a threshold; None: all that it answers."""

  def __init__(self, task: TextTask, threshold: float | None):
    check_share("threshold", threshold)
    if threshold is not None and not task.calibrated:
      task, threshold = task.with_threshold(threshold), None
    elif threshold is not None:
      task = task.with_threshold(LEAST_SCORE_TOLD)
    self.task, self._threshold = task, threshold

  def kept(self, prediction: Any) -> Any:
    """Returns a prediction without what is less sure; a relation is none, or the label of that."""
    least = self._threshold
    if least is None:
      return prediction
    if isinstance(prediction, Number):
      raise InputError("threshold: of a number, which has no score; expected none")
    if isinstance(prediction, Relation):
      none = prediction._replace(label=self.task.none_label or "")
      return prediction if prediction.score >= least else none
    if isinstance(prediction, Labels):
      kept = tuple(x for x in prediction.labels if x.score >= least)
      return dataclasses.replace(prediction, labels=kept)
    sure = [x for x in prediction if x.score >= least]
    if isinstance(prediction, Types | TaggedSpans):
      return dataclasses.replace(prediction, spans=tuple(sure))
    return sure


def predict(
  model: ModelParts,
  texts: str | Sequence[str],
  *,
  link: Linker | None = None,
  vectors: str | Path | None = None,
  knowledge: str | Path | None = None,
  threshold: float | None = None,
  labels: Iterable[str] | Mapping[str, str] | None = None,
  nested: bool = False,
  several: bool = False,
  shapes: CompiledShapes | None = None,
  **fields: object,
) -> Any:
  """Returns a fine-tuned model's prediction for one text, or for each text of a list.

  `fields` are those of the task's files, for a list of texts a list with a value for each. For a
  system that reads vectors of entities, `link` finds the `links` of a text, and `vectors` is their
  folder where it is not that of the training. So is `knowledge` for a linker. What has a score
  below `threshold` is left out. `labels` are those that a model with labels at run time looks for:
  a list, or a mapping to their descriptions; or of names those of its own that are shown. Of such
  a model, `nested` names stand inside others, and `several` gives each all its labels. All texts
  are read together, padded to `shapes` if there are any.
  """
  folders = {"vectors": vectors, "knowledge": knowledge}
  settings: dict[str, Any] = {name: str(x) for name, x in folders.items() if x}
  for name, wanted in (("nested", nested), ("several", several)):
    if not isinstance(wanted, bool):
      raise InputError(f"{name}: {wanted!r:.60}; expected true or false")
    settings |= {name: True} if wanted else {}
  if labels is not None:
    settings |= asked(model, labels)
  abstaining = Abstaining(for_predictions(model, task_of(model, **settings)), threshold)
  task = abstaining.task
  check_inputs(task, model.backbone)
  task.check_head(model.network)
  single = isinstance(texts, str)
  columns: dict[str, Any] = {"text": texts, **fields}
  if single:
    columns = {name: [value] for name, value in columns.items()}
  if link is not None:
    columns["links"] = [list(link(text)) for text in columns["text"]]
  examples = [
    task.parse(value, str(number), "text" if single else f"text {number}")
    for number, value in enumerate(_objects(columns))
  ]
  found = predictions(model, task, examples, shapes=shapes)
  results = [abstaining.kept(prediction) for _, prediction in found]
  return results[0] if single else results


def predictions(
  model: ModelParts,
  task: TextTask[Example, Prediction],
  examples: Iterable[Example],
  faults: Faults | None = None,
  *,
  file: str = "",
  shapes: CompiledShapes | None = None,
) -> Iterator[tuple[Example, Prediction]]:
  """Yields each example with its prediction, in memory that does not grow with their number.

  With the name of their file, warns after the last of what the vocabulary lacks. With `shapes` all
  are read together, padded to those.
  """
  processor, counting = processor_of(model, task), None
  if file:
    processor, counting = counted(processor)
  remaining, size = iter(examples), None if shapes else CHUNK
  shapes = shapes or shapes_of(model.backbone)
  calibration = Calibration.of(model)
  while chunk := list(itertools.islice(remaining, size)):
    rows = task.features(processor, chunk, faults)
    pad = processor.entity_vocab.pad_id
    logits = outputs(model, task, rows, pad, shapes) if rows else {}
    decoded = map(calibration.scored, task.decode(chunk, rows, logits))
    yield from zip(chunk, decoded, strict=True)
  if counting is not None:
    counting.warn(file)


def asked(
  model: ModelParts, labels: Iterable[str] | Mapping[str, str], *, known: bool = True
) -> dict[str, Any]:
  """Returns the settings of a task that looks for labels.

  Those of a file may have words that the model does not know, unless `known`.
  """
  head = model.network.head
  if head is None or not head.once:
    if isinstance(head, LabelHead) and (shown := task_of(model).showing(tuple(labels))):
      return dict(shown)
    other = "expected none, or a model of labels such as english/labels"
    raise InputError(f"labels: a {model.architecture} has its own; {other}")
  return label_settings(model, labels, known=known)


def asking(model: ModelParts, task: TextTask, examples: Sequence[Any] | None) -> TextTask:
  """Returns a task that looks for the labels of examples, or for its own, if it looks for any."""
  wanted = task.asked_of(examples)
  return dataclasses.replace(task, **asked(model, wanted, known=False)) if wanted else task


def for_predictions(model: ModelParts, task: TextTask) -> TextTask:
  """Returns a task that reads what people ask, and that has labels to look for if it needs any."""
  return asking(model, task.for_predictions(), None)


def reader_for(model: ModelParts, faults: Faults) -> ReadExamples:
  """Returns a function that applies the model to examples as a task reads them."""

  def read(task: TextTask, examples: Sequence[Any]) -> tuple[TextTask, list[Row], dict[str, Any]]:
    task = asking(model, task, examples)
    processor, shapes = processor_of(model, task), shapes_of(model.backbone)
    rows: list[Row] = []
    found: dict[str, Any] = {}
    for first in range(0, len(examples), CHUNK):
      some = task.features(processor, examples[first : first + CHUNK], faults)
      of_some = outputs(model, task, some, processor.entity_vocab.pad_id, shapes) if some else {}
      for name, values in of_some.items():
        found.setdefault(name, []).extend(values)
      rows += [dataclasses.replace(row, example=first + row.example) for row in some]
    return task, rows, found

  return read


def _objects(columns: Mapping[str, object]) -> Iterator[dict[str, object]]:
  listed = {name: _listed(name, column) for name, column in columns.items()}
  count = len(listed["text"])
  for name, column in listed.items():
    if len(column) != count:
      raise InputError(f"{name}: {len(column)} of them; expected {count}, one for each text")
  for i in range(count):
    yield {name: _as_json(column[i]) for name, column in listed.items()}


def _listed(name: str, column: object) -> list[object]:
  """Returns a column of any kind as a list: a list, an array, a column of a data frame."""
  if isinstance(column, str | Mapping) or not isinstance(column, Iterable):
    expected = "a text or a list of them" if name == "text" else "a list, one for each text"
    raise InputError(f"{name}: {column!r:.60}; expected {expected}")
  return list(column)


def _as_json(value: object) -> object:
  if isinstance(value, np.ndarray | np.generic):
    return value.tolist()
  return [_as_json(item) for item in value] if isinstance(value, list | tuple) else value
