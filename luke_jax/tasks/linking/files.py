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
from luke_jax.tasks.linking import formats, ganea

FIELDS = ("mentions",)


class Mention(NamedTuple):
  """A name in a text and what it means: a title, "" for no known entity, None if not known.

  One that is `optional` counts neither as found nor as missed, as a date that a linker may link.
  `candidates` are titles that it may mean, with their shares, in the place of those that are known.
  """

  start: int
  end: int
  title: str | None = None
  item: str | None = None  # of Wikidata
  optional: bool = False
  candidates: ganea.Candidates | None = None


@dataclasses.dataclass(frozen=True)
class Example:
  """A text; without mentions they have to be found."""

  id: str
  place: str  # file and line
  text: str
  mentions: tuple[Mention, ...] | None = None


def read(path: Path, faults: Faults) -> list[Example]:
  """Reads JSON lines, of ours or of a benchmark, GUM's documents, or Ganea and Hofmann's tables."""
  readers = {formats.CONLLU: formats.gum, ganea.TABLE: ganea.documents}
  if path.suffix in readers:
    documents = ((f"document {x['id']}", x) for x in readers[path.suffix](path))
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
    given = (tuple((x, float(y)) for x, y in mention[5]),) if len(mention) > 5 else ()
    mentions.append(Mention(start, end, title, *mention[3:5], *given))
  return Example(id, place, text.text, tuple(sorted(mentions, key=lambda x: x[:2])))


def _check(mention: object, place: str) -> None:
  """Raises InputError for what is no mention."""
  valid = isinstance(mention, list | tuple) and 2 <= len(mention) <= 6
  if valid:
    title, item, optional, given = (*mention[2:], *(None, None, False, [])[len(mention) - 2 :])
    valid = all(isinstance(x, str | None) for x in (title, item)) and type(optional) is bool
    valid = valid and isinstance(given, list | tuple) and all(map(_is_candidate, given))
  if not valid:
    expected = "expected [start, end] or [start, end, title, item], null for no known entity"
    raise InputError(f"{place}: mentions: {mention!r:.200}; {expected}")


def _is_candidate(value: object) -> bool:
  if not isinstance(value, list | tuple) or len(value) != 2 or not isinstance(value[0], str):
    return False
  return isinstance(value[1], int | float) and 0 <= value[1] <= 1


def to_json(example: Example) -> dict[str, Any]:
  """Returns the object that `parse` reads as the example."""
  value: dict[str, Any] = {"id": example.id, "text": example.text}
  if example.mentions is not None:
    value["mentions"] = [list(_shortened(mention)) for mention in example.mentions]
  return value


def _shortened(mention: Mention) -> tuple[object, ...]:
  """Returns a mention as JSON has it, without what is as usual at its end."""
  start, end, title, item, optional, given = mention
  if given is not None:
    return start, end, title or None, item, optional, given
  if title is None:
    return start, end
  if optional:
    return start, end, title or None, item, optional
  return (start, end, title or None, item) if item else (start, end, title or None)
