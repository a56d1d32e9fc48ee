"""The task of a model and its settings, from its config.json, and how sure its scores are."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from luke_jax import typed_values
from luke_jax.convert.loading import MakeHead
from luke_jax.convert.parts import ModelParts
from luke_jax.errors import InputError
from luke_jax.heads.kinds import HEADS, class_names
from luke_jax.models.head import Head, LabelHead
from luke_jax.models.network import Network
from luke_jax.models.system import Backbone, Described, System
from luke_jax.tasks.calibration import share_right
from luke_jax.tasks.contract import TextTask
from luke_jax.tasks.known import CLASSES, is_named, task_class
from luke_jax.tasks.predictions import Labels, Number, TaggedSpans, Types
from luke_jax.tasks.running import fitted, processor_for
from luke_jax.text import Processor
from luke_jax.text.entity_vocab import SPECIAL_ENTITIES

KEY = "luke_jax"  # of config.json
# Settings of a run and not of the model that it made, which reads as much as it has room for.
LOCAL = ("train", "dev", "test", "text", "labels", "words", "skip_bad", "mentions", "held_out")
LOCAL += ("fold", "used", "sampled", "fit_head", "fill", "find", "withhold")
LOCAL += ("spans", "row_labels", "descriptions", "table", "prompt", "nested", "several")
LOCAL += ("attributes",)  # which the head has
LOCAL += ("columns", "repair_tags", "tag_names")  # the layout of files, which can differ
ENTRY = "calibration"  # of luke_jax's entry in config.json
SURE = "sure"  # beside it: the score from which nine in ten answers are right


def task_of(
  model: ModelParts, task: str | type[TextTask] | None = None, **changes: object
) -> TextTask:
  """Returns the task that a model was trained for, with its settings.

  `task` is a name or a user's own class; without it, it is the one that the model's config names,
  or that its head serves.
  """
  saved = _saved(model.rest)
  class_name = saved.get("class")
  if class_name and not model.task and not isinstance(task, type):
    raise InputError(
      f"made for the task {class_name}, which is none of luke_jax's; expected it as `task`"
    )
  kind = task or model.task or saved.get("task") or _name_for(model)
  chosen = task_class(kind) if isinstance(kind, str) else kind
  if model.kind not in chosen.heads:
    forms = chosen.forms(model.backbone).values()
    chosen = next((form for form in forms if model.kind in form.heads), chosen)
  if model.kind not in chosen.heads:
    kind = chosen.heads[0]
    expected = class_names(model.system).get(kind, f"head of kind {kind}")
    raise InputError(f"a {model.architecture}; expected a {expected}, as {chosen.name} needs")
  if model.report.missing:
    raise InputError(f"untrained: {', '.join(model.report.missing[:3])}; expected a trained head")
  head = model.network.head
  if head:
    changes = {**{x: y for x, y in head.own_files.items() if y}, **changes, **head.task_settings}
  return task_with(chosen, model.rest, model.labels, model.config, **changes)


def task_with(
  task: type[TextTask],
  rest: Mapping[str, object],
  own_labels: Sequence[str],
  config: System,
  **changes: object,
) -> TextTask:
  """Returns a task class with the settings that a model's config.json has for it."""
  saved = _saved(rest)
  if saved.get("task") == task.name:
    settings = saved.get("settings", {})
  else:  # a model of transformers, whose config.json may say something
    settings = task.settings_from(rest, own_labels)
  value = typed_values.group_from_json(settings, task, f"config.json: {KEY}.settings")
  if lacking := sorted(changes.keys() - {field.name for field in dataclasses.fields(task)}):
    raise InputError(f"{lacking[0]}: not of {task.name}; expected none")
  fixed = {"labels": _labels(task, tuple(own_labels)), "words": config.room_for_words}
  return dataclasses.replace(value, **{**fixed, **changes})


def own_head(task: type[TextTask]) -> MakeHead:
  """Returns a function that makes the head of a task class for a model described by config.json."""

  def make(backbone: Backbone, described: Described) -> Head | None:
    value = task_with(task, described.rest, described.labels, backbone.config)
    return value.network(backbone).head

  return make


def _saved(rest: Mapping[str, object]) -> Mapping[str, Any]:
  saved = rest.get(KEY)
  return saved if isinstance(saved, dict) else {}


def settings_of(task: TextTask) -> dict[str, object]:
  """Returns the entries of config.json for a model's task."""
  values = typed_values.to_json(task, "")
  settings = {name: value for name, value in values.items() if name not in LOCAL}
  kind = type(task)
  of_user = {} if is_named(kind) else {"class": f"{kind.__module__}:{kind.__qualname__}"}
  return {**task.config_entries, KEY: {"task": task.name, **of_user, "settings": settings}}


def check_answer(model: ModelParts, answer: type) -> None:
  """Raises InputError for a model whose task has other answers."""
  task = task_of(model)
  if task.answer is not answer:
    able = ", ".join(name for name in CLASSES if task_class(name).answer is answer)
    raise InputError(f"of {task.name}; expected a model of one of {able}")


def processor_of(model: ModelParts, task: TextTask) -> Processor:
  """Returns the processor of texts for a model and its task."""
  return fitted(task, any_processor(model), model.backbone)


def any_processor(model: ModelParts, spans: Sequence[object] = ()) -> Processor:
  """Returns the processor of a model's texts, and of spans of entities if it has entities."""
  if model.tokenizer is None:
    raise InputError("no tokenizer; expected a model with one")
  if spans and not (model.backbone.entities and model.processor):
    raise InputError(f"spans: {len(spans)} of them; expected none, for the model has no entities")
  return model.processor or Processor(model.tokenizer, SPECIAL_ENTITIES)


def trained_model(task: TextTask, network: Network, params: dict) -> ModelParts:
  """Returns a model with the labels and the text side of its task."""
  processor = processor_for(task, network.backbone)
  labels, rest = _labels(type(task), task.labels), settings_of(task)
  of_user = None if is_named(type(task)) else type(task)
  tokenizer = processor.tokenizer
  return ModelParts(network, params, labels, tokenizer, processor, rest=rest, task=of_user)


def _labels(task: TextTask | type[TextTask], labels: tuple[str, ...]) -> tuple[str, ...]:
  head = HEADS.get(task.heads[0])
  return labels if head is None or issubclass(head, LabelHead) else ()


def _name_for(model: ModelParts) -> str:
  for name in CLASSES:
    if model.kind in task_class(name).heads:
      return name
  kinds = dict.fromkeys(kind for name in CLASSES for kind in task_class(name).heads)
  names = class_names(model.system)
  classes = ", ".join(names[kind] for kind in kinds if kind in names)
  raise InputError(f"a {model.architecture}; expected one of {classes}")


class Calibration(NamedTuple):
  """A line through the logits of scores: surer answers stay surer, and answers stay the same."""

  slope: float = 1.0
  offset: float = 0.0

  @classmethod
  def of(cls, model: ModelParts) -> "Calibration":
    """Returns the entry of a model's config.json; without one scores stay as they are."""
    ours = model.rest.get(KEY)
    entry = ours.get(ENTRY) if isinstance(ours, dict) else None
    if entry is None:
      return cls()
    numbers = entry if isinstance(entry, list) and len(entry) == 2 else [None]
    if not all(isinstance(x, int | float) and math.isfinite(x) for x in numbers) or numbers[0] <= 0:
      raise InputError(f"config.json: {KEY}.{ENTRY}: {entry!r:.60}; expected a slope and an offset")
    return cls(*numbers)

  def score(self, score: float) -> float:
    """Returns how often answers of a score are right."""
    return share_right(score, self.slope, self.offset)

  def scored(self, prediction: Any) -> Any:
    """Returns a prediction with these scores of its answers; numbers have none."""
    if self == (1.0, 0.0):
      return prediction
    if isinstance(prediction, Types | TaggedSpans):
      return dataclasses.replace(prediction, spans=tuple(map(self._answer, prediction.spans)))
    if isinstance(prediction, Labels):
      return dataclasses.replace(prediction, labels=tuple(map(self._answer, prediction.labels)))
    if isinstance(prediction, list):
      return [self._answer(answer) for answer in prediction]
    return self._answer(prediction)

  def _answer(self, answer: Any) -> Any:
    if isinstance(answer, Number):
      return answer
    return answer._replace(score=self.score(answer.score))


def scores_fitted(model: ModelParts, task: TextTask) -> bool:
  """Returns whether a model's scores are fitted to be shares of right answers, or need not be."""
  own: Any = task
  fit = Calibration.of(model) if task.calibrated else (own.slope, own.offset)
  return fit != (1.0, 0.0)


def sure_of(model: ModelParts) -> float | None:
  """Returns the score from which a model's answers are sure; None if nobody has measured it."""
  ours = model.rest.get(KEY)
  entry = ours.get(SURE) if isinstance(ours, dict) else None
  if entry is not None and not (isinstance(entry, int | float) and 0 <= entry <= 1):
    raise InputError(f"config.json: {KEY}.{SURE}: {entry!r:.60}; expected a score from 0 to 1")
  return entry
