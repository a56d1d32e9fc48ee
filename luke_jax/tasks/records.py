"""Examples of any file of objects: lines of JSON, a list, a table, a spreadsheet, a DocBin."""

import contextlib
import dataclasses
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.tasks.files import Example, Faults, json_object, lines, parse_items, read_json
from luke_jax.tasks.spreadsheets import as_ours, is_spreadsheet, rows_of
from luke_jax.tasks.tables import is_table, read_table

DOC_BIN = ".spacy"


def read_records(
  path: Path,
  parse: Callable[[Mapping[str, object], str, str], Example],
  faults: Faults,
  columns: Sequence[str] = (),
) -> list[Example]:
  """Returns the results of `parse` for the objects of a file: an object, its id and its place.

  The file is known by its name and how it begins; `columns` are those of a spreadsheet.
  """
  return list(parse_items(records(path, columns), str(path), parse, faults, as_object))


def records(path: Path, columns: Sequence[str] = ()) -> Iterator[tuple[str, Any]]:
  """Yields the place of each object of a file, and the object or a function that reads it there."""
  if columns and is_spreadsheet(path):
    yield from ((place, partial(as_ours, cells)) for place, cells in rows_of(path, columns))
  elif is_table(path):
    yield from numbered("row", read_table(path))
  elif path.suffix == ".csv":
    raise InputError(f"{path}: comma-separated values; expected JSON lines, an object on each line")
  elif (items := _list(path)) is not None:
    yield from numbered("example", items)
  else:
    for number, line in lines(path):
      if line.strip():
        yield f"line {number}", partial(json_object, line)


def numbered(name: str, items: Sequence[Any]) -> Iterator[tuple[str, Any]]:
  """Yields items with their places, which are numbers from 1."""
  return ((f"{name} {number}", item) for number, item in enumerate(items, start=1))


def as_object(item: Any, place: str) -> Mapping[str, object]:
  """Returns the object of what `records` yields, for spaCy 2 a pair of a text and its entities."""
  if callable(item):
    return item(place)
  if isinstance(item, list) and list(map(type, item)) == [str, dict]:
    return {"text": item[0], "entities": item[1].get("entities", [])}
  if not isinstance(item, dict):
    raise InputError(f"{place}: a {type(item).__name__}; expected an object")
  return item


def to_json(example: Any) -> dict[str, Any]:
  """Returns an example as an object of JSON lines, without its place and what is as usual."""
  if not dataclasses.is_dataclass(example):
    return {"example": repr(example)}
  fields = {x.name: x.default for x in dataclasses.fields(example) if x.name != "place"}
  values = {name: getattr(example, name) for name in fields}
  return {name: _listed(x) for name, x in values.items() if x != fields[name]}


def _listed(value: Any) -> Any:
  """Returns a value with lists in the place of tuples."""
  return list(map(_listed, value)) if isinstance(value, list | tuple) else value


def _list(path: Path) -> list[Any] | None:
  """Returns the items of a list in JSON, or documents of spaCy; None for lines."""
  if path.suffix == DOC_BIN:
    return _documents(path)
  first = next((line.strip() for _, line in lines(path) if line.strip()), "")
  if not first.startswith("[") and first != "{":
    return None
  value = None
  with contextlib.suppress(InputError):  # lines, whose faults are reported one by one
    value = read_json(path)
  if isinstance(value, dict):
    raise InputError(f"{path}: an object over several lines; expected one on each, as jq -c writes")
  return value if isinstance(value, list) else None


def _documents(path: Path) -> list[object]:
  """Returns the documents of spaCy's binary form, read by spaCy."""
  try:
    import spacy
    from spacy.tokens import DocBin
  except ImportError:
    expected = "expected spaCy with it, pip install spacy, or doc.to_json() of each document"
    raise InputError(f"{path}: a DocBin of spaCy; {expected}, as JSON lines") from None
  try:
    docs = DocBin().from_disk(path).get_docs(spacy.blank("xx").vocab)
    return [doc.to_json() for doc in docs]
  except (OSError, ValueError, KeyError, zlib.error) as fault:
    raise InputError(f"{path}: {fault}; expected a DocBin of spaCy") from None
