"""Examples of entity linking in files: texts, and the names in them with what they mean."""

import dataclasses
from collections.abc import Mapping
from typing import Any, NamedTuple

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.tasks.files import (
  Faults,
  check_fields,
  listed,
  parse_items,
  read_json_lines,
  read_text,
)
from luke_jax.tasks.linking import formats

FIELDS = ("mentions",)


class Mention(NamedTuple):
  """A name in a text and what it means: a title, "" for no known entity, None if not known.

  One that is `optional` counts neither as found nor as missed, as a date that a linker may link.
  """

  start: int
  end: int
  title: str | None = None
  item: str | None = None  # of Wikidata
  optional: bool = False


@dataclasses.dataclass(frozen=True)
class Example:
  """A text; without mentions they have to be found."""

  id: str
  place: str  # file and line
  text: str
  mentions: tuple[Mention, ...] | None = None


def read(path: Path, faults: Faults) -> list[Example]:
  """Reads JSON lines, of ours or of a benchmark, or documents of GUM."""
  if path.suffix == formats.CONLLU:
    documents = ((f"document {x['id']}", x) for x in formats.gum(path))
    return list(parse_items(documents, str(path), parse, faults, lambda value, _: value))
  return list(read_json_lines(path, parse, faults))


def parse(value: Mapping[str, Any], id: str, place: str) -> Example:
  """Returns the example in an object of JSON lines."""
  value = formats.as_ours(value, place)
  check_fields(value, FIELDS, place)
  text = read_text(value, place)
  if "mentions" not in value:
    return Example(id, place, text.text)
  mentions = []
  for mention in listed(value, "mentions", place):
    _check(mention, place)
    start, end = text.span(list(mention[:2]), "mentions")
    title = (mention[2] or "") if len(mention) > 2 else None
    mentions.append(Mention(start, end, title, *mention[3:]))
  return Example(id, place, text.text, tuple(sorted(mentions, key=lambda x: x[:2])))


def _check(mention: object, place: str) -> None:
  """Raises InputError for what is no mention."""
  valid = isinstance(mention, list | tuple) and 2 <= len(mention) <= 5
  if valid:
    title, item, optional = (*mention[2:], *(None, None, False)[len(mention) - 2 :])
    valid = all(isinstance(x, str | None) for x in (title, item)) and type(optional) is bool
  if not valid:
    expected = "expected [start, end] or [start, end, title, item], null for no known entity"
    raise InputError(f"{place}: mentions: {mention!r}; {expected}")


def to_json(example: Example) -> dict[str, Any]:
  """Returns the object that `parse` reads as the example."""
  value: dict[str, Any] = {"id": example.id, "text": example.text}
  if example.mentions is not None:
    value["mentions"] = [list(_shortened(mention)) for mention in example.mentions]
  return value


def _shortened(mention: Mention) -> tuple[object, ...]:
  """Returns a mention as JSON has it, without what is as usual at its end."""
  start, end, title, item, optional = mention
  if title is None:
    return start, end
  if optional:
    return start, end, title or None, item, optional
  return (start, end, title or None, item) if item else (start, end, title or None)
