"""Which task a model is for, and with which settings: what its config.json says of it."""

import dataclasses
from collections.abc import Sequence
from typing import Any

from luke_jax.convert.parts import ModelParts
from luke_jax.errors import InputError
from luke_jax.models.network import Network
from luke_jax.tasks import fine_tuning
from luke_jax.tasks.fine_tuning import fitted
from luke_jax.tasks.names import CLASSES, task_class
from luke_jax.text import LukeProcessor
from luke_jax.text.entity_vocab import SPECIAL_ENTITIES
from luke_jax.training import typed_values

KEY = "luke_jax"  # of config.json
UNLABELLED = ("cloze", "answer")  # kinds of heads
# What belongs to a run and not to the model that it made, which reads as much as it has room for.
LOCAL = ("train", "dev", "test", "text", "labels", "words", "skip_bad", "mentions")


def task_of(model: ModelParts, name: str | None = None, **changes: Any) -> Any:
  """The task that a model was trained for; one that others made has the task of its class."""
  saved = model.rest.get(KEY)
  saved = saved if isinstance(saved, dict) else {}
  name = name or saved.get("task") or _name_for(model)
  found = task_class(name)
  if found.head != model.kind:
    expected = model.family.architectures[found.head]
    raise InputError(f"a {model.architecture}; expected a {expected}, as {name} needs")
  if model.report.missing:
    raise InputError(f"untrained: {', '.join(model.report.missing[:3])}; expected a trained head")
  settings = saved.get("settings", {}) if saved.get("task") == name else {}
  task = typed_values.group_from_json(settings, found, f"config.json: {KEY}.settings")
  fixed = {"labels": _labels(found, model.labels), "words": model.config.room_for_words}
  return dataclasses.replace(task, **fixed, **changes)


def settings_of(task: Any) -> dict[str, Any]:
  """What a model's config.json says of its task."""
  values = typed_values.to_json(task, "")
  settings = {name: value for name, value in values.items() if name not in LOCAL}
  return {KEY: {"task": task.name, "settings": settings}}


def processor_of(model: ModelParts, task: Any) -> LukeProcessor:
  """What makes rows of texts for a model and its task."""
  return fitted(any_processor(model), task)


def any_processor(model: ModelParts, spans: Sequence[Any] = ()) -> LukeProcessor:
  """What makes rows of texts for a model, and of spans of entities where it has any."""
  if model.tokenizer is None:
    raise InputError("no tokenizer; expected a model with one")
  if spans and not (model.backbone.entities and model.processor):
    raise InputError(f"spans: {len(spans)} of them; expected none, for the model has no entities")
  return model.processor or LukeProcessor(model.tokenizer, SPECIAL_ENTITIES)


def trained_model(task: Any, network: Network, params: dict) -> ModelParts:
  """A model with the labels and the text side of its task."""
  processor = fine_tuning.processor(task, network.backbone)
  labels, rest = _labels(type(task), task.labels), settings_of(task)
  return ModelParts(network, params, labels, processor.tokenizer, processor, rest=rest)


def _labels(task: Any, labels: tuple[str, ...]) -> tuple[str, ...]:
  return () if task.head in UNLABELLED else labels


def _name_for(model: ModelParts) -> str:
  for name in CLASSES:
    if task_class(name).head == model.kind:
      return name
  known = ", ".join(model.family.architectures[task_class(name).head] for name in CLASSES)
  raise InputError(f"a {model.architecture}; expected one of {known}")
