"""Spreadsheets with a header, saved as CSV or TSV: a row is an example, a cell names its words.

    text,head,tail,label
    Nordvik is owned by Hamar Steel.,Nordvik,Hamar Steel,owned_by

So there are no spans to count: head, tail and span are words that the text has once, and an answer
is where the text has it first. Several labels or answers of a cell have semicolons between. A data
frame has such rows too, or fields as JSON lines have them.
"""

import math
from collections.abc import Iterator, Mapping, Sequence

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.tasks.files import quoted_rows, tabbed_rows

COMMAS, TABS = ".csv", ".tsv"
SEVERAL = ("labels", "answers")  # columns whose cells may hold several
# What others call our columns.
_NAMES = {"context": "text", "answer": "answers", "label": "labels", "type": "labels"}
BETWEEN = ";"

Cells = tuple[Sequence[str], Sequence[object]]  # names of columns, and what a row has in them


def is_spreadsheet(path: Path) -> bool:
  """Returns whether a file is a spreadsheet, by its name."""
  return path.suffix in (COMMAS, TABS)


def rows_of(path: Path, columns: Sequence[str]) -> Iterator[tuple[str, Cells]]:
  """Yields the rows of a spreadsheet, each with its line and the names of its columns.

  Raises InputError for a header without one of the first columns, or with others than these.
  """
  rows = tabbed_rows(path) if path.suffix == TABS else quoted_rows(path)
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


def as_ours(cells: Cells, place: str) -> dict[str, object]:
  """Returns a row as an object of JSON lines; what is no string is as it is there."""
  names, values = cells
  if len(names) != len(values):
    raise InputError(f"{place}: {len(values)} fields; expected {len(names)}, as in the header")
  ours: dict[str, object] = {}
  for name, cell in zip(names, values, strict=True):
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
  return as_ours((list(cells), list(cells.values())), place) if columns else cells
