"""Files of the free benchmarks of entity linking, read as examples of ours."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import unquote

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.tasks.files import lines, listed

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
