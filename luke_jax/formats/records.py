"""Examples of any file of objects: lines of JSON, a list, a table, a spreadsheet, a DocBin.

A spreadsheet with a header, saved as CSV or TSV, has an example in each row:

    text,head,tail,label
    Nordvik is owned by Hamar Steel.,Nordvik,Hamar Steel,owned_by

So there are no spans to count: head, tail and span are words that the text has once, and an answer
is where the text has it first. Several labels or answers of a cell have semicolons between. A data
frame has such rows too, or fields as JSON lines have them.
"""

import contextlib
import dataclasses
import math
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from luke_jax.errors import InputError
from luke_jax.files import Path, is_there
from luke_jax.formats import files
from luke_jax.formats.datasets import is_table, tables_of
from luke_jax.formats.shards import read_table

DOC_BIN = ".spacy"
SPREADSHEETS = (".tsv", ".csv")
SEVERAL = ("labels", "answers", "aliases")  # columns whose cells may hold several
# What others call our columns.
_NAMES = {"context": "text", "answer": "answers", "label": "labels", "type": "labels"}
BETWEEN = ";"

Cells = tuple[Sequence[str], Sequence[object]]  # names of columns, and what a row has in them


def read_records(
  path: Path,
  parse: Callable[[Mapping[str, object], str, str], files.Example],
  faults: files.Faults,
  columns: Sequence[str] = (),
) -> list[files.Example]:
  """Returns the results of `parse` for the objects of a file: an object, its id and its place.

  The file is known by its name and how it begins; `columns` are those of a spreadsheet.
  """
  return list(files.parse_items(records(path, columns), str(path), parse, faults, as_object))


def records(path: Path, columns: Sequence[str] = ()) -> Iterator[tuple[str, Any]]:
  """Yields the place of each object of a file, and the object or a function that reads it there."""
  if columns and is_spreadsheet(path):
    yield from ((place, partial(of_cells, cells)) for place, cells in named_rows(path, columns))
  elif is_table(path):
    yield from numbered("row", read_table(path))
  elif path.suffix == ".csv":
    raise InputError(f"{path}: comma-separated values; expected JSON lines, an object on each line")
  elif (items := _list(path)) is not None:
    yield from numbered("example", items)
  else:
    for number, line in files.lines(path):
      if line.strip():
        yield f"line {number}", partial(files.json_object, line)


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
  first = next((line.strip() for _, line in files.lines(path) if line.strip()), "")
  if not first.startswith("[") and first != "{":
    return None
  value = None
  with contextlib.suppress(InputError):  # lines, whose faults are reported one by one
    value = files.read_json(path)
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


def is_spreadsheet(path: Path) -> bool:
  """Returns whether a file is a spreadsheet, by its name."""
  return path.suffix in SPREADSHEETS


def named_rows(path: Path, columns: Sequence[str]) -> Iterator[tuple[str, Cells]]:
  """Yields the rows of a spreadsheet, each with its line and the names of its columns.

  Raises InputError for a header without one of the first columns, or with others than these.
  """
  rows = files.rows_of(path)
  number, header = next(rows, (1, []))
  names, wanted = named(header, columns), ", ".join(columns)
  for name in names:
    if name not in (*columns, "id") or names.count(name) > 1:
      raise InputError(f"{path}: line {number}: column {name!r}; expected {wanted}, each once")
  for name in columns[:2]:
    if name not in names:
      raise InputError(f"{path}: line {number}: no column {name!r}; expected {wanted}")
  for number, row in rows:
    yield f"line {number}", (names, row)


def named(header: Sequence[object], columns: Sequence[str]) -> list[str]:
  """Returns the names of columns as we have them."""
  names = [str(name).strip().lower().replace(" ", "_") for name in header]
  return [name if name in columns else _NAMES.get(name, name) for name in names]


def by_name(cells: Cells, place: str) -> dict[str, object]:
  """Returns what a row has in each column; raises InputError if it is not one cell in each."""
  names, values = cells
  if len(names) != len(values):
    raise InputError(f"{place}: {len(values)} fields; expected {len(names)}, as in the header")
  return dict(zip(names, values, strict=True))


def of_cells(cells: Cells, place: str) -> dict[str, object]:
  """Returns a row as an object of JSON lines; what is no string is as it is there."""
  ours: dict[str, object] = {}
  for name, cell in by_name(cells, place).items():
    if not isinstance(cell, str) or name == "text":
      ours[name] = cell
    elif name in SEVERAL:
      ours[name] = [part.strip() for part in cell.split(BETWEEN) if part.strip()]
    elif name != "id" or cell:
      ours[name] = cell.strip()
  return ours


def from_frame(row: Mapping[str, object], columns: Sequence[str], place: str) -> dict[str, object]:
  """Returns a row of a data frame as an object of JSON lines; a cell without a value is empty."""
  cells: dict[str, object] = {}
  for name, given in zip(named([*row], columns), row.values(), strict=True):
    lacking = given is None or type(given).__name__ == "NAType"
    lacking |= isinstance(given, float) and math.isnan(given)
    if not lacking:
      cells[name] = str(given) if name in columns and type(given) is int else given
    elif name in columns:
      cells[name] = ""
  return of_cells((list(cells), list(cells.values())), place) if columns else cells


def sources_of(setting: str) -> tuple[str, ...]:
  """Returns the files that a setting names, set apart by commas, or the tables of a folder."""
  if not is_there(setting):
    return tuple(setting.split(","))
  folder = Path(setting)
  tables = tables_of(folder) if folder.is_dir() else ()
  return tuple(map(str, tables)) or (setting,)
