"""The meaning of the fields of a dataclass: the comments beside and above them in its source."""

import dataclasses
import inspect
import io
import tokenize
from typing import NamedTuple


class _Line(NamedTuple):
  """A line of a class body: the field that it declares, and its comment."""

  field: str
  comment: str


def field_notes(group: type) -> dict[str, str]:
  """Returns the comment of each field that has one, a line of text each.

  A comment beside a field is that field's, and so are whole lines of comments above it.
  """
  notes: dict[str, str] = {}
  for kind in reversed(group.__mro__):
    if dataclasses.is_dataclass(kind):
      notes |= _notes(kind)
  names = {field.name for field in dataclasses.fields(group)}  # type: ignore[arg-type]
  return {name: note for name, note in notes.items() if name in names}


def _notes(kind: type) -> dict[str, str]:
  try:
    source = inspect.getsource(kind)
  except (OSError, TypeError):  # typed at a prompt
    return {}
  notes: dict[str, str] = {}
  above: list[str] = []
  for line in _lines(source):
    if line.field:
      text = " ".join([*above, line.comment]).strip()
      if text:
        notes[line.field] = text
      above = []
    elif line.comment:
      above.append(line.comment)
    else:
      above = []
  return notes


def _lines(source: str) -> list[_Line]:
  """Returns the lines at the level of the class's fields, up to its first function."""
  lines, comments = [], {}
  for token in tokenize.generate_tokens(io.StringIO(inspect.cleandoc(source) + "\n").readline):
    if token.type == tokenize.COMMENT:
      comments[token.start[0]] = token.string.lstrip("# ")
  for number, text in enumerate(inspect.cleandoc(source).splitlines(), start=1):
    stripped = text.strip()
    if stripped.startswith(("def ", "@property")):
      break
    name, colon, _ = stripped.partition(":")
    declares = bool(colon) and name.isidentifier() and not text.startswith("class")
    lines.append(_Line(name if declares else "", comments.get(number, "")))
  return lines
