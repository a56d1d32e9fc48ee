"""Exports of Label Studio in JSON, whole or brief, read as examples of ours."""

from collections.abc import Mapping
from typing import Any

from luke_jax.errors import InputError

SPANS, CHOICES = "labels", "choices"  # of a result: the label of a span, and that of a text


def is_export(value: Mapping[str, object]) -> bool:
  """Returns whether an object is a task of an export."""
  if "data" in value and ("annotations" in value or "completions" in value):
    return True
  labels = value.get("label")
  return isinstance(labels, list) and any(isinstance(x, dict) and SPANS in x for x in labels)


def as_ours(value: Mapping[str, Any], place: str) -> dict[str, Any]:
  """Returns a task of an export with our names: `spans` of names, or `labels` of the whole text.

  Of several annotations it is the first that was not cancelled; one that has none has no answer.
  """
  if "data" not in value:
    return _with_id(value, {"text": value.get("text"), "spans": _spans(value["label"], place)})
  ours: dict[str, Any] = {"text": text_of(value, place)}
  results = results_of(value)
  if results is not None:
    values = [x["value"] for x in results if isinstance(x.get("value"), dict)]
    chosen = [name for x in values for name in x.get(CHOICES, ())]
    ours |= {"labels": chosen} if chosen else {"spans": _spans(values, place)}
  return _with_id(value, ours)


def results_of(value: Mapping[str, Any]) -> list[dict[str, Any]] | None:
  """Returns the annotations of a task of an export; None if there is none."""
  annotations = value.get("annotations", value.get("completions"))
  valid = [x for x in annotations or () if isinstance(x, dict) and not x.get("was_cancelled")]
  if not valid:
    return None
  return [x for x in valid[0].get("result") or [] if isinstance(x, dict)]


def _with_id(value: Mapping[str, object], ours: dict[str, object]) -> dict[str, object]:
  return ours | {name: value[name] for name in ("id",) if name in value}


def text_of(value: Mapping[str, Any], place: str) -> object:
  """Returns the text of a task: the field of this name, or the only one that is a text."""
  data = value["data"]
  texts = [x for x in data.values() if isinstance(x, str)] if isinstance(data, dict) else []
  if isinstance(data, dict) and "text" in data:
    return data["text"]
  if len(texts) != 1:
    raise InputError(f"{place}: data: {len(texts)} texts; expected one, or a field text")
  return texts[0]


def _spans(values: Any, place: str) -> list[list[Any]]:
  spans = []
  for value in values:
    names = value.get(SPANS, []) if isinstance(value, dict) else []
    if len(names) != 1:
      raise InputError(f"{place}: {value!r:.60}; expected a span with one of {SPANS}")
    spans.append([value.get("start"), value.get("end"), names[0]])
  return spans
