"""Changes of an experiment's fields by dotted name, and the list of those fields."""

import dataclasses
import difflib
import inspect
import io
import json
import tokenize
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from luke_jax import typed_values
from luke_jax.errors import InputError, perhaps
from luke_jax.models.table import SIZES
from luke_jax.training.experiment import Experiment
from luke_jax.training.experiment_files import Row
from luke_jax.typed_values import dotted, field_kinds, is_group, placed

_SIMILAR = 0.45  # likeness from which a name is suggested


def override(experiment: Experiment, assignments: Sequence[str]) -> Experiment:
  """Returns the experiment with changes such as "optimizer.learning_rate=2e-5"; the last one wins.

  `model=luke-large` sets all sizes to those that have a name, of any system.
  """
  changes: dict[tuple[str, ...], Any] = {}
  fields = {name: (value, kind) for name, value, kind in _fields(experiment, "")}
  for assignment in assignments:
    name, equals, text = (part.strip() for part in assignment.partition("="))
    if not equals:
      raise InputError(f"{assignment}: no '='; expected FIELD=VALUE, such as run.seed=1")
    if name == "model":
      if text not in SIZES:
        expected = f"{', '.join(SIZES)}{perhaps(text, SIZES)}"
        raise InputError(f"model: {text!r}; expected one of {expected}")
      experiment = dataclasses.replace(experiment, model=SIZES[text])
      changes = {path: value for path, value in changes.items() if path[0] != "model"}
      fields = {name: (value, kind) for name, value, kind in _fields(experiment, "")}
      continue
    if name not in fields:
      raise InputError(f"{name}: no such field; expected {_nearest(name, fields)}")
    for path, value in _assigned(name, text, *fields[name]).items():
      changes = {other: x for other, x in changes.items() if not _overlap(path, other)}
      changes[path] = value
  return _replaced(experiment, changes, "")


def row(config: Callable[[], Experiment], *changes: str, **paper: Any) -> Row:
  """Returns a row of a table: an experiment with changes as in `override`, and published scores."""
  return Row(lambda: override(config(), changes), paper)


class Setting(NamedTuple):
  """A field of an experiment as text for a user."""

  name: str
  type: str
  value: str
  meaning: str


def settings(experiment: Experiment) -> Iterator[Setting]:
  """Yields every field that can be overridden, with its value in the experiment."""
  meanings = dict(_meanings(experiment, ""))
  size = "a named size such as luke-base, or its fields below"
  yield Setting("model", "a name", "", size)
  for name, value, kind in _fields(experiment, ""):
    if not is_group(value):
      shown = json.dumps(typed_values.to_json(value, name), ensure_ascii=False)
      yield Setting(name, typed_values.expected(kind), shown, meanings.get(name, ""))


def assignment(experiment: Experiment, name: str, value: object) -> str:
  """Returns the assignment of a value to a field, by its dotted name or by its own alone."""
  fields = {field: value for field, value, _ in _fields(experiment, "") if not is_group(value)}
  matches = [name] if name in fields else [x for x in fields if x.rpartition(".")[2] == name]
  if len(matches) != 1:
    described = {field: (value, None) for field, value in fields.items()}
    if matches:
      raise InputError(f"{name}: several fields; expected one of {', '.join(matches)}")
    raise InputError(f"{name}: no such field; expected {_nearest(name, described)}")
  return f"{matches[0]}={_text(value)}"


def _meanings(group: object, place: str) -> Iterator[tuple[str, str]]:
  for name, note in field_notes(type(group)).items():
    yield dotted(place, name), note
  for name in field_kinds(type(group)):
    if is_group(getattr(group, name)):
      yield from _meanings(getattr(group, name), dotted(place, name))


def _text(value: object) -> str:
  """Returns a value as it is written on the command line."""
  if value is None or isinstance(value, bool | list | tuple):
    return json.dumps(value)
  return str(value)


def _fields(group: object, place: str) -> Iterator[tuple[str, object, object]]:
  """Yields every field's dotted name, value and declared type; groups before their fields."""
  for name, kind in field_kinds(type(group)).items():
    value = getattr(group, name)
    yield dotted(place, name), value, kind
    if is_group(value):
      yield from _fields(value, dotted(place, name))


def _nearest(name: str, fields: Mapping[str, tuple[object, object]]) -> str:
  """Returns the field that seems meant, by its own name and, if given, the group's."""

  def likeness(field: str) -> float:
    typed, real = name.rpartition(".")[2], field.rpartition(".")[2]
    short = "".join(word[:1] for word in real.split("_"))
    similarity = 1.0 if typed == short else difflib.SequenceMatcher(None, typed, real).ratio()
    if "." not in name:
      return similarity
    return (similarity + difflib.SequenceMatcher(None, name, field).ratio()) / 2

  settable = ["model", *(x for x, (value, _) in fields.items() if not is_group(value))]
  best = max(settable, key=likeness)
  if likeness(best) > _SIMILAR:
    return f"another, perhaps {best}"
  return f"a field of {', '.join(field_kinds(Experiment))}"


def _assigned(name: str, text: str, value: object, kind: object) -> dict[tuple[str, ...], object]:
  """Returns the new values by path."""
  path = tuple(name.split("."))
  if not is_group(value):
    return {path: typed_values.from_text(text, kind, name)}
  if typed_values.optional(kind) and text.lower() in ("null", "none"):
    return {path: None}
  names = ", ".join(dotted(name, field) for field in field_kinds(type(value)))
  raise InputError(f"{name}: a group of fields; expected one of {names}")


def _overlap(path: tuple[str, ...], other: tuple[str, ...]) -> bool:
  return all(a == b for a, b in zip(path, other, strict=False))


def _replaced(group: Any, changes: Mapping[tuple[str, ...], Any], place: str) -> Any:
  """Returns the group with new values by path, all at once as they may depend on each other."""
  new = {path[0]: value for path, value in changes.items() if len(path) == 1}
  for name in {path[0]: None for path in changes if len(path) > 1}:
    inner = {path[1:]: value for path, value in changes.items() if path[0] == name}
    new[name] = _replaced(getattr(group, name), inner, dotted(place, name))
  with placed(place):
    return dataclasses.replace(group, **new)


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
