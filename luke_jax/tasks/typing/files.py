"""Examples of entity typing in files."""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.tasks.files import (
  Faults,
  check_fields,
  listed,
  read_json,
  read_json_lines,
  read_text,
  string,
)
from luke_jax.text.special_tokens import Bounds

FIELDS = ("span", "labels")
OPEN_ENTITY = {"sent", "start", "end", "labels"}
# Open Entity writes brackets as the Penn Treebank does; the paper's code reads them as brackets.
BRACKETS = {"-LRB-": "(", "-LSB-": "(", "-LCB-": "(", "-RRB-": ")", "-RSB-": ")", "-RCB-": ")"}


@dataclasses.dataclass(frozen=True)
class Example:
  """An entity in a text and, if known, its types."""

  id: str
  place: str  # file and line
  text: str
  span: Bounds
  labels: tuple[str, ...] | None = None


def read(path: Path, faults: Faults) -> list[Example]:
  """Reads JSON lines, or Open Entity as the authors of ERNIE published it."""
  if path.suffix == ".json":
    return list(_open_entity(path, faults))
  return list(read_json_lines(path, parse, faults))


def parse(value: Mapping[str, Any], id: str, place: str) -> Example:
  """Returns the example in an object of JSON lines."""
  check_fields(value, FIELDS, place)
  text = read_text(value, place)
  span = text.span(value.get("span"), "span")
  labels = labels_in(value, place) if "labels" in value else None
  return Example(id, place, text.text, span, labels)


def to_json(example: Example) -> dict[str, Any]:
  """Returns the object that `parse` reads as the example."""
  value: dict[str, Any] = {"id": example.id, "text": example.text, "span": list(example.span)}
  return value if example.labels is None else value | {"labels": list(example.labels)}


def labels_in(value: Mapping[str, Any], place: str) -> tuple[str, ...]:
  """Returns the labels of an object, each once."""
  labels = listed(value, "labels", place)
  if not all(isinstance(label, str) and label for label in labels):
    raise InputError(f"{place}: labels: {labels!r}; expected strings that are not empty")
  return tuple(dict.fromkeys(labels))


def _open_entity(path: Path, faults: Faults) -> Iterator[Example]:
  items = read_json(path)
  if not isinstance(items, list):
    raise InputError(f"{path}: a {type(items).__name__}; expected a list of examples")
  for number, item in enumerate(items, start=1):
    place = f"{path}: example {number}"
    with faults.caught():
      if not isinstance(item, dict) or not item.keys() >= OPEN_ENTITY:
        raise InputError(f"{place}: expected an object with {', '.join(sorted(OPEN_ENTITY))}")
      sentence = string(item, "sent", place)
      value = {"text": sentence, "span": [item["start"], item["end"]], "labels": item["labels"]}
      yield _without_codes(parse(value, str(number), place))


def _without_codes(example: Example) -> Example:
  """Returns the example with brackets in the place of their codes."""
  start, end = example.span
  before, mention, after = (
    _brackets(part) for part in (example.text[:start], example.text[start:end], example.text[end:])
  )
  span = (len(before), len(before) + len(mention))
  return dataclasses.replace(example, text=before + mention + after, span=span)


def _brackets(text: str) -> str:
  for code, bracket in BRACKETS.items():
    text = text.replace(code, bracket)
  return text
