"""The models of a server: read, described, and asked about batches of texts."""

import inspect
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from luke_jax import english
from luke_jax.convert.adapters import is_adapter_directory
from luke_jax.errors import InputError, at
from luke_jax.files import Path
from luke_jax.inference.predicting import predict
from luke_jax.inference.settings import scores_fitted, sure_of, task_of
from luke_jax.model import Model, load
from luke_jax.runs.models import backbone_of, model_directory
from luke_jax.serve.guard import Limits
from luke_jax.serve.joining import Compute, TextItem
from luke_jax.tasks.contract import TextTask

# What `predict` reads by these names comes from the one who serves, folders of this machine among
# them. Its other named settings are of a request, and the rest are fields of each text.
LOCAL = frozenset(("model", "texts", "link", "vectors", "knowledge", "shapes"))
SETTINGS = frozenset(inspect.signature(predict).parameters) - LOCAL - {"fields"}


class ServedModel(NamedTuple):
  """A model with the name that requests call it by, and its task."""

  name: str
  model: Model
  task: TextTask

  def about(self) -> dict[str, object]:
    """Returns its description for clients."""
    task, config = self.task, self.model.config
    return {
      "name": self.name,
      "task": task.name,
      "system": config.title,
      "labels": list(task.shown_labels),
      "negative": task.none_label,
      "sure": sure_of(self.model),
      "fitted": scores_fitted(self.model, task),
      "layers": config.num_hidden_layers,
      "heads": config.num_attention_heads,
      "queries": _queries(self.model),
    }


def served(models: Mapping[str, Model]) -> dict[str, ServedModel]:
  """Returns models by their names; raises InputError for one that makes no predictions."""
  if not models:
    raise InputError("models: none; expected one or more")
  made = {}
  for name, model in models.items():
    with at(name):
      made[name] = ServedModel(name, model, task_of(model))
  return made


def read_models(paths: Iterable[str | Path], backbone: Path | None = None) -> dict[str, Model]:
  """Reads models by their directories or names, or that of a box; the first box if there are none.

  `backbone` is that of the adapters among them.
  """
  asked = list(paths) or [english.NAME]
  chosen = [model for path in asked for model in english.answering(Path(path))]
  models = {}
  for path in chosen:
    directory = model_directory(Path(path))
    own = backbone or backbone_of(Path(path))
    of_adapter = own if is_adapter_directory(directory) else None
    models[str(path)] = load(directory, backbone=of_adapter)
  return models


class Question(NamedTuple):
  """Content of a request for predictions: fields of each text, and settings of them all."""

  items: list[TextItem]
  fields: frozenset[str]
  settings: Mapping[str, Any]
  single: bool


def question_of(request: Mapping[str, object], limits: Limits) -> Question:
  """Returns the question in an object of JSON: `text` with its other fields, or a list of each."""
  asked = {name: value for name, value in request.items() if name != "model"}
  if named := sorted(asked.keys() & LOCAL):
    expected = "text" if named[0] == "texts" else "the fields of a text"
    raise InputError(f"{named[0]}: not of a request; expected {expected}")
  settings = {name: asked.pop(name) for name in SETTINGS & asked.keys()}
  _check_number("threshold", settings.get("threshold"))
  _check_labels(settings.get("labels"), limits.labels)
  text = asked.get("text")
  if not isinstance(text, str | list):
    given = f"{text!r:.60}" if "text" in asked else "missing"
    raise InputError(f"text: {given}; expected a text, or a list of texts")
  single = isinstance(text, str)
  columns: dict[str, Any] = {name: [x] for name, x in asked.items()} if single else asked
  count = len(columns["text"])
  for name, column in columns.items():
    if not isinstance(column, list) or len(column) != count:
      raise InputError(f"{name}: expected a list of {count}, one for each text")
  items = []
  for i, one in enumerate(columns["text"]):
    place = "text" if single else f"text {i}"
    characters = len(one) if isinstance(one, str) else 0
    if characters > limits.characters:
      raise TooLongError(
        f"{place}: {characters:,} characters; expected at most {limits.characters:,}"
      )
    items.append(TextItem({name: column[i] for name, column in columns.items()}, place, characters))
  return Question(items, frozenset(columns), settings, single)


def check_pieces(model: Model, items: Sequence[TextItem], most: int) -> None:
  """Raises TooLongError for a text of more word pieces than a text may have characters.

  They are what a prediction takes time for. Prose has four or five characters in each, Chinese one;
  of a syllable of Korean, an English vocabulary may make three.
  """
  for item in items:
    text = item.value["text"]
    if not isinstance(text, str) or model.processor is None:
      continue
    if len(text.encode(errors="replace")) <= most:  # no vocabulary makes more pieces of a text
      continue
    pieces = len(model.processor.tokenizer.encode([text.encode(errors="replace").decode()])[0].ids)
    if pieces > most:
      raise TooLongError(f"{item.place}: {pieces:,} word pieces; expected at most {most:,}")


def _check_labels(labels: object, most: int) -> None:
  if not isinstance(labels, list | dict | None):
    expected = 'a list of labels, as ["person", "ship"], or an object with their descriptions'
    raise InputError(f"labels: expected {expected}")
  if labels and len(labels) > most:
    raise TooLongError(f"labels: {len(labels):,} of them; expected at most {most:,}")


def _check_number(name: str, value: object) -> None:
  if value is None:
    return
  if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
    raise InputError(f"{name}: {value!r:.60}; expected a number")


class TooLongError(InputError):
  """A text or a list of labels is longer than the server reads."""


def compute(model: Model, question: Question, in_json: Callable[[Any], object]) -> Compute:
  """Returns a function that predicts texts together, whichever requests they are from."""

  def predicted(items: Sequence[TextItem]) -> list[object]:
    columns: dict[str, Any] = {x: [item.value[x] for item in items] for x in question.fields}
    try:
      results = predict(model, columns.pop("text"), **columns, **question.settings)
    except InputError as fault:
      if len(items) > 1:
        raise
      message = re.sub(r"^text 0\b", lambda _: items[0].place, str(fault))
      raise InputError(message) from None
    return [in_json(result) for result in results]

  return predicted


def _queries(model: Model) -> list[str]:
  """Returns the kinds of queries that a model's attention has."""
  if not model.backbone.entities:
    return ["word → word"]
  return [f"{one} → {other}" for one in ("word", "entity") for other in ("word", "entity")]
