"""Values of the fields of frozen dataclasses, converted by the fields' declared types.

They come as text of the command line or as JSON. Types are bool, int, float, str, Path, None,
Literal, tuples, other dataclasses and unions of these.
"""

import contextlib
import dataclasses
import json
import math
import pathlib
import sys
from collections.abc import Generator, Mapping
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from luke_jax.errors import InputError
from luke_jax.files import Path

_WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}
_WORDS |= {Path: "a path", NoneType: "null"}
# Of a union the strictest type that fits is chosen, since "2" is also a text.
_STRICTEST = (Literal, NoneType, bool, int, float, tuple, Path, str)


def field_kinds(group: type) -> dict[str, Any]:
  """Returns the declared types of a dataclass's fields."""
  hints = get_type_hints(group)
  return {field.name: hints[field.name] for field in dataclasses.fields(group) if field.init}


def from_text(text: str, kind: object, place: str) -> object:
  """Returns the value that a text of the command line stands for."""
  for arm in _arms(kind):
    with contextlib.suppress(ValueError, RecursionError):
      if get_origin(arm) is tuple:
        return _tuple_from_text(text, arm, place)
      if get_origin(arm) is Literal:
        return _one_of({_spelled(option): option for option in get_args(arm)}, text)
      if arm is NoneType:
        return _one_of({"null": None, "none": None}, text.lower())
      if arm is bool:
        return _one_of({"true": True, "false": False}, text.lower())
      if arm in (int, float):
        return _scalar(arm(text), arm)
      return _scalar(text, arm)
  raise InputError(f"{place}: {text!r}; expected {expected(kind)}")


def from_json(value: object, kind: object, place: str) -> Any:
  """Returns the value that a JSON value stands for."""
  for arm in _arms(kind):
    if isinstance(value, dict) and dataclasses.is_dataclass(arm):
      return group_from_json(value, arm, place)
    try:
      if isinstance(value, list) and get_origin(arm) is tuple:
        return _tuple(value, arm, place)
      return _scalar(value, arm)
    except InputError:
      raise  # it names the item
    except ValueError:
      continue
  raise InputError(f"{place}: {value!r}; expected {expected(kind)}")


def group_from_json(
  values: Mapping[str, Any], group: Any, place: str, *, kinds: Mapping[str, Any] | None = None
) -> Any:
  """Returns a dataclass from JSON values; `kinds` replaces its fields' declared types."""
  kinds = kinds or field_kinds(group)
  for name in values:
    if name not in kinds:
      raise InputError(f"{dotted(place, name)}: no such field; expected one of {', '.join(kinds)}")
  for field in dataclasses.fields(group):
    required = field.default is dataclasses.MISSING is field.default_factory
    if field.init and required and field.name not in values:
      word = expected(kinds[field.name])
      raise InputError(f"{dotted(place, field.name)}: missing; expected {word}")
  fields = {
    name: from_json(value, kinds[name], dotted(place, name)) for name, value in values.items()
  }
  with placed(place):
    return group(**fields)


def to_json(value: object, place: str) -> Any:
  """Returns the value as JSON values, which `from_json` converts back."""
  if is_group(value):
    names = field_kinds(type(value))
    return {name: to_json(getattr(value, name), dotted(place, name)) for name in names}
  if isinstance(value, tuple | list):
    return [to_json(item, f"{place}[{index}]") for index, item in enumerate(value)]
  if isinstance(value, Path):
    return str(value)
  if value is None or isinstance(value, bool | int | str):
    return value
  if isinstance(value, float) and math.isfinite(value):
    return float(value)
  raise InputError(f"{place}: {value!r}; expected a number, a text, null, or a tuple of these")


def is_group(value: object) -> bool:
  """Returns whether a value is an instance of a dataclass."""
  return dataclasses.is_dataclass(value) and not isinstance(value, type)


def dotted(place: str, name: str) -> str:
  """Returns the dotted name of a field of the group at `place`."""
  return f"{place}.{name}" if place else name


@contextlib.contextmanager
def placed(place: str) -> Generator[None, None, None]:
  """Raises a group's own InputErrors again with the group's place before the field."""
  try:
    yield
  except InputError as fault:
    has_place = not place or str(fault).startswith(f"{place}.")
    raise InputError(str(fault) if has_place else f"{place}.{fault}") from None


def expected(kind: Any) -> str:
  """Returns the values that a type allows, in words."""
  if get_origin(kind) in (Union, UnionType):
    return " or ".join(expected(arm) for arm in get_args(kind))
  if get_origin(kind) is Literal:
    return f"one of {', '.join(map(_spelled, get_args(kind)))}"
  if get_origin(kind) is tuple:
    items = [expected(item) for item in get_args(kind) if item is not ...]
    return f"a list, each {items[0]}" if ... in get_args(kind) else f"a list of {', '.join(items)}"
  if dataclasses.is_dataclass(kind):
    return f"the fields of {getattr(kind, '__name__', kind)}"
  return _WORDS.get(_path(kind), f"a field of another type than {kind}")


def optional(kind: object) -> bool:
  """Returns whether None is a value of the type."""
  return NoneType in _arms(kind)


def _arms(kind: object) -> list[object]:
  def looseness(arm: object) -> int:
    origin = get_origin(arm) or arm
    return _STRICTEST.index(origin) if origin in _STRICTEST else len(_STRICTEST)

  arms = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
  return sorted(map(_path, arms), key=looseness)


def _path(kind: object) -> Any:
  """Returns our type of paths for pathlib's, which a task of one's own may have."""
  return Path if isinstance(kind, type) and issubclass(kind, pathlib.PurePath) else kind


def _tuple_from_text(text: str, kind: object, place: str) -> tuple[object, ...]:
  if text.startswith("["):
    return _tuple(json.loads(text), kind, place)
  texts = [part.strip() for part in text.split(",")] if text else []
  kinds = _kinds_of_items(kind, len(texts))
  return tuple(from_text(part, item, place) for part, item in zip(texts, kinds, strict=True))


def _tuple(values: list[object], kind: object, place: str) -> tuple[object, ...]:
  kinds = _kinds_of_items(kind, len(values))
  places = (f"{place}[{index}]" for index in range(len(values)))
  return tuple(map(from_json, values, kinds, places))


def _kinds_of_items(kind: object, number: int) -> list[object]:
  items = list(get_args(kind))
  if items[-1:] == [...]:
    return items[:1] * number
  if len(items) != number:
    raise ValueError
  return items


def _one_of(values: dict[str, object], text: str) -> object:
  if text not in values:
    raise ValueError
  return values[text]


def _scalar(value: Any, kind: Any) -> Any:
  if get_origin(kind) is Literal:
    if any(value == option and type(value) is type(option) for option in get_args(kind)):
      return value
  elif kind is float:
    # An int may be too large for a float, and NaN is equal to nothing, itself included.
    if type(value) in (int, float) and abs(value) <= sys.float_info.max:
      return float(value)
  elif kind is Path:
    if isinstance(value, str):
      return Path(value)
  elif kind in _WORDS and type(value) is kind:
    return value
  raise ValueError


def _spelled(option: object) -> str:
  return option if isinstance(option, str) else json.dumps(option)
