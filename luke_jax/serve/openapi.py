"""Description of a server's addresses, by which programs make clients."""

import dataclasses
import json
import types
import typing
from collections.abc import Mapping
from typing import Any

from luke_jax import __version__
from luke_jax.files import packaged
from luke_jax.serve.guard import OPEN
from luke_jax.serve.service import LABELS, Service
from luke_jax.tasks.contract import SENTENCE, TextTask

# What is the same for all services: addresses, statuses, a refusal, and the fields of a request.
_PARTS: dict[str, Any] = json.loads(packaged("serve/openapi.json"))
FAULT = _PARTS["fault"]
OPEN_TO_ALL: dict[str, Any] = {"security": []}
PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}


def description(service: Service, root: str, *, secured: bool) -> dict[str, Any]:
  """Returns the description of a service that is mounted at a root, in OpenAPI 3.1.

  `secured` is whether requests need a token.
  """
  return {
    "openapi": "3.1.0",
    "info": {"title": "luke_jax", "version": __version__},
    "servers": [{"url": root or "/"}],
    "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
    "security": [{"token": []}] if secured else [],
    "paths": {
      "/predict": {"post": _predict(service)},
      **{path: {"get": _get(path, what)} for path, what in _PARTS["gets"].items()},
    },
  }


def _get(path: str, what: str) -> dict[str, Any]:
  kind = "text/plain" if path == "/metrics" else "application/json"
  responses = {"200": {"description": "Done.", "content": {kind: {}}}}
  later = {"503": FAULT} if path == "/ready" else {}
  return {"summary": what, "responses": responses | later} | (OPEN_TO_ALL if path in OPEN else {})


def _predict(service: Service) -> dict[str, Any]:
  names = list(service.models)
  fields = _PARTS["request"]["properties"]
  schema = {
    **_PARTS["request"],
    "properties": {**fields, "model": fields["model"] | {"enum": names}},
    "required": ["text"] if len(names) == 1 else ["model", "text"],
  }
  examples = {
    name: {
      "summary": f"{one.task.name} by {name}",
      "value": {
        **{"model": name, "text": f"{SENTENCE}.", **one.task.fields},
        **({"labels": list(LABELS)} if one.task.reads_labels else {}),
      },
    }
    for name, one in service.models.items()
  }
  answers = [_answer(name, one.task) for name, one in service.models.items()]
  return {
    "summary": "Predicts for a text, or for each text of a list.",
    "requestBody": {
      "required": True,
      "content": {"application/json": {"schema": schema, "examples": examples}},
    },
    "responses": {
      "200": {
        "description": "Predicted.",
        "content": {"application/json": {"schema": {"oneOf": answers}}},
      },
      **{status: FAULT | {"description": what} for status, what in _PARTS["statuses"].items()},
    },
  }


def _answer(model: str, task: TextTask) -> dict[str, Any]:
  """Returns the schema of a model's answers: to one text, or to a list."""
  one = prediction_schema(type(task))
  return {
    "type": "object",
    "properties": {
      "model": {"const": model},
      "prediction": {**one, "description": "Of the text."},
      "predictions": {
        "type": "array",
        "items": one,
        "description": "Of each text of a list, in order.",
      },
    },
    "required": ["model"],
    "oneOf": [{"required": ["prediction"]}, {"required": ["predictions"]}],
  }


def prediction_schema(task: type[TextTask]) -> dict[str, Any]:
  """Returns the schema of what a task predicts for a text, by the type that its class names."""
  try:
    (kind,) = typing.get_args(typing.get_type_hints(task.decode)["return"])
  except (KeyError, NameError, TypeError, ValueError):  # a user's task may name none
    return {}
  return _schema(kind)


def _schema(kind: Any) -> dict[str, Any]:
  """Returns the schema of values of a type, as the service writes them."""
  origin, inner = typing.get_origin(kind), typing.get_args(kind)
  if kind in PLAIN:
    return {"type": PLAIN[kind]}
  if origin in (typing.Union, types.UnionType):
    return {"anyOf": [_schema(x) for x in inner]}
  if origin in (list, tuple):
    return {"type": "array", "items": _schema(inner[0])}
  if origin is Mapping:
    return {"type": "object", "additionalProperties": _schema(inner[1])}
  if dataclasses.is_dataclass(kind):
    names = [field.name for field in dataclasses.fields(kind)]
  elif isinstance(kind, type) and issubclass(kind, tuple):
    names = list(kind._fields)  # pyrefly: ignore
  else:
    return {}
  hints = typing.get_type_hints(kind)
  fields = {name: _schema(hints[name]) for name in names}
  return {"title": kind.__name__, "type": "object", "properties": fields, "required": names}
