"""Examples of entity linking in files: texts, and the names in them with what they mean."""

import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import unquote

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.tasks.files import (
  Faults,
  check_fields,
  lines,
  listed,
  parse_items,
  read_json_lines,
  read_text,
)
from luke_jax.tasks.linking import ganea

CONLLU = ".conllu"
OPTIONAL_TYPES = ("DATETIME", "QUANTITY")  # of ELEVANT's labels, which need not be linked
_ITEM = re.compile(r"Q\d+")
# GUM's Entity: mentions that open, whose eight fields have the words of the head and the title at
# the end, and those that close.
_OPENED_OR_CLOSED = re.compile(r"\((?P<fields>[^()]+)(?P<closed>\))?|(?P<number>[\w\[\]/]+)\)")


def as_ours(value: Mapping[str, Any], place: str) -> Mapping[str, Any]:
  """Returns an object of ELEVANT's benchmarks, Tweeki or the Reddit set with our names."""
  if "labels" in value and "evaluation_span" in value:
    return {"text": value.get("text"), "mentions": _of_elevant(value, place)}
  if "sentence" in value and "link" in value:
    titles = [str(link).rpartition("|")[::2] for link in listed(value, "link", place)]
    return {"text": value["sentence"], "mentions": _paired(value, titles, place)}
  if "wikipedia_titles" in value:
    titles = [(title,) for title in listed(value, "wikipedia_titles", place)]
    return {"text": value.get("text"), "mentions": _paired(value, titles, place)}
  return value


def _of_elevant(value: Mapping[str, Any], place: str) -> list[list[object]]:
  """Returns mentions by the names of items in Wikidata, which often are titles."""
  mentions = []
  for label in listed(value, "labels", place):
    try:
      (start, end), item, name = label["span"], label["entity_id"], label["name"]
    except (KeyError, TypeError, ValueError):
      expected = "expected a label with span, entity_id and name"
      raise InputError(f"{place}: labels: {label!r:.60}; {expected}") from None
    known = bool(_ITEM.fullmatch(str(item)))
    optional = bool(label.get("optional")) or label.get("type") in OPTIONAL_TYPES
    mentions.append([start, end, name if known else None, item if known else None, optional])
  return mentions


def _paired(
  value: Mapping[str, Any], titles: Sequence[Sequence[str]], place: str
) -> list[list[object]]:
  spans = listed(value, "index", place)
  if not all(isinstance(span, list) and len(span) == 2 for span in spans):
    raise InputError(f"{place}: index: {spans!r:.60}; expected a list of [start, end]")
  if len(spans) != len(titles):
    raise InputError(
      f"{place}: index: {len(spans)} spans of {len(titles)} titles; expected as many"
    )
  return [[*span, *title] for span, title in zip(spans, titles, strict=True)]


def gum(path: Path) -> Iterator[dict[str, Any]]:
  """Yields GUM's documents, with the mentions that have a title and a proper noun at their head."""
  id, words = "", []
  for _, line in lines(path):
    if line.startswith("# newdoc id = "):
      if words:
        yield _document(id, words, path)
      id, words = line.rpartition(" ")[2], []
    columns = line.split("\t")
    if len(columns) == 10 and columns[0].isdigit():
      words.append((columns[1], columns[3], columns[9]))
  if words:
    yield _document(id, words, path)


def _document(id: str, words: Sequence[tuple[str, str, str]], path: Path) -> dict[str, Any]:
  text, bounds = "", []
  for form, _, notes in words:
    bounds.append((len(text), len(text) + len(form)))
    text += form + ("" if "SpaceAfter=No" in notes.split("|") else " ")
  mentions = []
  for first, last, title in _linked(words, f"{path}: document {id}"):
    if any(words[i][1] == "PROPN" for i in range(first, last + 1)):
      mentions.append([bounds[first][0], bounds[last][1], unquote(title).replace("_", " ")])
  different = {(start, end): title for start, end, title in mentions}
  return {"id": id, "text": text.rstrip(), "mentions": [[*x, y] for x, y in different.items()]}


def _linked(words: Sequence[tuple[str, str, str]], place: str) -> Iterator[tuple[int, int, str]]:
  """Yields the first and the last word of the head, and the title, of each mention that has one."""
  opened: dict[str, list[tuple[int, int, str]]] = {}
  for i, (_, _, notes) in enumerate(words):
    entity = next((x[len("Entity=") :] for x in notes.split("|") if x.startswith("Entity=")), "")
    for found in _OPENED_OR_CLOSED.finditer(entity):
      number = found["number"]
      if found["fields"]:
        number, *fields = found["fields"].split("-", 7)
        opened.setdefault(number, []).append(_head(i, fields))
      if found["closed"] or found["number"]:
        if not opened.get(number):
          raise InputError(f"{place}: word {i + 1}: {entity!r:.40}; expected a mention to close")
        first, last, title = opened[number].pop()
        if title and last <= i:
          yield first, last, title


def _head(start: int, fields: Sequence[str]) -> tuple[int, int, str]:
  """Returns the words of a mention's head, by their numbers in it, and its title or ""."""
  if len(fields) < 7:
    return start, start, ""
  numbers = [int(x) for x in fields[4].split(",") if x.isdigit()] or [1]
  return start + min(numbers) - 1, start + max(numbers) - 1, fields[6]


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
  readers = {CONLLU: gum, ganea.TABLE: ganea.documents}
  if path.suffix in readers:
    documents = ((f"document {x['id']}", x) for x in readers[path.suffix](path))
    return list(parse_items(documents, str(path), parse, faults, lambda value, _: value))
  return list(read_json_lines(path, parse, faults))


def parse(value: Mapping[str, Any], id: str, place: str) -> Example:
  """Returns the example in an object of JSON lines."""
  value = as_ours(value, place)
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
