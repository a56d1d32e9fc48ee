"""Spreadsheets with a header, saved as CSV or TSV: a row is an example, a cell names its words.

    text,head,tail,label
    Nordvik is owned by Hamar Steel.,Nordvik,Hamar Steel,owned_by

So there are no spans to count: head, tail and span are words that the text has once, and an answer
is where the text has it first. Several labels or answers of a cell have semicolons between.
"""

import functools
from collections.abc import Iterator, Sequence

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.tasks.files import quoted_rows, tabbed_rows

COMMAS, TABS = ".csv", ".tsv"
SPANS = ("head", "tail", "span")  # columns whose cells are words of the text
# What others call our columns.
_NAMES = {"context": "text", "answer": "answers", "label": "labels", "type": "labels"}
BETWEEN = ";"

Cells = tuple[list[str], list[str]]  # names of columns, and what a row has in them


def is_spreadsheet(path: Path) -> bool:
  """Returns whether a file is a spreadsheet, by its name."""
  return path.suffix in (COMMAS, TABS)


def rows_of(path: Path, columns: Sequence[str]) -> Iterator[tuple[str, Cells]]:
  """Yields the rows of a spreadsheet, each with its line and the names of its columns.

  Raises InputError for a header without one of the first columns, or with others than these.
  """
  rows = tabbed_rows(path) if path.suffix == TABS else quoted_rows(path)
  number, header = next(rows, (1, []))
  names = [name.strip().lower().replace(" ", "_") for name in header]
  names = [name if name in columns else _NAMES.get(name, name) for name in names]
  wanted = ", ".join(columns)
  for name in names:
    if name not in (*columns, "id") or names.count(name) > 1:
      raise InputError(f"{path}: line {number}: column {name!r}; expected {wanted}, each once")
  for name in columns[:2]:
    if name not in names:
      raise InputError(f"{path}: line {number}: no column {name!r}; expected {wanted}")
  for number, row in rows:
    yield f"line {number}", (names, row)


def as_ours(cells: Cells, place: str) -> dict[str, object]:
  """Returns a row as an object of JSON lines."""
  names, values = cells
  if len(names) != len(values):
    raise InputError(f"{place}: {len(values)} fields; expected {len(names)}, as in the header")
  row = dict(zip(names, values, strict=True))
  text = row["text"]
  find = functools.partial(_span, text, place=place)
  ours: dict[str, object] = {}
  for name, cell in row.items():
    if name in SPANS:
      ours[name] = find(name, cell.strip(), once=True)
    elif name == "answers":
      ours[name] = [find(name, x, once=False) for x in _parts(cell)]
    elif name == "labels":
      ours[name] = _parts(cell)
    elif name != "id" or cell:
      ours[name] = cell if name == "text" else cell.strip()
  return ours


def _parts(cell: str) -> list[str]:
  return [part.strip() for part in cell.split(BETWEEN) if part.strip()]


def _span(text: str, name: str, words: str, *, once: bool, place: str) -> list[int]:
  """Returns where a text has words, the first time if it may have them several times."""
  count = text.count(words) if words else 0
  if not count:
    raise InputError(f"{place}: {name}: {words!r}: not in the text; expected words of it")
  if once and count > 1:
    raise InputError(
      f"{place}: {name}: {words!r}: {count} times in the text; expected more of its words, or JSON"
      " lines, whose spans say which"
    )
  start = text.index(words)
  return [start, start + len(words)]
