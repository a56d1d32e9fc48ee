"""Examples of entity linking in files: texts, and the names in them with what they mean."""

import dataclasses
from collections.abc import Mapping
from typing import Any, NamedTuple

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.tasks.files import Faults, check_fields, listed, read_json_lines, read_text

FIELDS = ("mentions",)


class Mention(NamedTuple):
  """A name in a text and what it means: a title, "" for no known entity, None if not known."""

  start: int
  end: int
  title: str | None = None


@dataclasses.dataclass(frozen=True)
class Example:
  """A text; without mentions they have to be found."""

  id: str
  place: str  # file and line
  text: str
  mentions: tuple[Mention, ...] | None = None


def read(path: Path, faults: Faults) -> list[Example]:
  """Reads JSON lines."""
  return list(read_json_lines(path, parse, faults))


def parse(value: Mapping[str, Any], id: str, place: str) -> Example:
  """Returns the example in an object of JSON lines."""
  check_fields(value, FIELDS, place)
  text = read_text(value, place)
  if "mentions" not in value:
    return Example(id, place, text.text)
  mentions = []
  for mention in listed(value, "mentions", place):
    known = isinstance(mention, list | tuple) and len(mention) in (2, 3)
    if not known or (len(mention) == 3 and not isinstance(mention[2], str | None)):
      expected = "expected [start, end] or [start, end, title], null for no known entity"
      raise InputError(f"{place}: mentions: {mention!r}; {expected}")
    start, end = text.span(list(mention[:2]), "mentions")
    title = None if len(mention) == 2 else mention[2] or ""
    mentions.append(Mention(start, end, title))
  return Example(id, place, text.text, tuple(sorted(mentions)))


def to_json(example: Example) -> dict[str, Any]:
  """Returns the object that `parse` reads as the example."""
  value: dict[str, Any] = {"id": example.id, "text": example.text}
  if example.mentions is not None:
    value["mentions"] = [
      [x.start, x.end, *([] if x.title is None else [x.title or None])] for x in example.mentions
    ]
  return value
