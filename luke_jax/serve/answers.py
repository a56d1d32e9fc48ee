"""Answers as JSON: predictions of any task, and the attention of a text."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from luke_jax.errors import InputError
from luke_jax.model import Model
from luke_jax.show.heat_maps import attention_of
from luke_jax.show.marked import hue

MOST_TOKENS = 64  # of a text whose attention is shown


def as_json(value: object) -> Any:
  """Returns a prediction as JSON: what has named fields as an object, a sequence as a list."""
  if dataclasses.is_dataclass(value) and not isinstance(value, type):
    names = [field.name for field in dataclasses.fields(value)]
    return {name: as_json(getattr(value, name)) for name in names}
  if isinstance(value, tuple) and type(value) is not tuple:  # of named fields
    return {name: as_json(x) for name, x in value._asdict().items()}  # pyrefly: ignore
  if isinstance(value, Mapping):
    return {str(name): as_json(x) for name, x in value.items()}
  if isinstance(value, list | tuple):
    return [as_json(x) for x in value]
  return value.item() if isinstance(value, np.generic) else value


def coloured(value: object) -> Any:
  """Returns a prediction as JSON for the page: what has a label or a title has its hue."""
  return _with_hues(as_json(value))


def _with_hues(value: Any) -> Any:
  if isinstance(value, list):
    return [_with_hues(x) for x in value]
  if not isinstance(value, dict):
    return value
  made = {name: _with_hues(x) for name, x in value.items()}
  if "label" in value or "title" in value:
    made["hue"] = hue(value.get("label") or value.get("title") or "none")
  return made


def attention(model: Model, request: Mapping[str, Any]) -> dict[str, object]:
  """Returns the tokens of a text and the attention between them, of a layer and a head."""
  text, layer, head = request.get("text"), request.get("layer", -1), request.get("head")
  if not isinstance(text, str):
    raise InputError("text: missing; expected a text")
  for name, number in (("layer", layer), ("head", head)):
    if type(number) is not int and (name, number) != ("head", None):
      raise InputError(f"{name}: {number!r:.60}; expected a number")
  spans = request.get("spans", []) if model.backbone.entities else []
  weights = attention_of(model, text, spans, layer=layer, head=head)
  tokens = [*weights.words, *weights.entities]
  if len(tokens) > MOST_TOKENS:
    raise InputError(
      f"text: {len(tokens)} tokens; expected at most {MOST_TOKENS} for its attention: one sentence"
    )
  rounded = np.round(weights.weights, 3).tolist()
  return {"tokens": tokens, "words": len(weights.words), "weights": rounded}
