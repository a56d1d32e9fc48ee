"""Reading of a user's JSON, with faults that name file and place."""

import json
from typing import Any

from luke_jax.errors import InputError
from luke_jax.files import Path, check_regular


def read_text(path: Path) -> str:
  """Returns the text of a UTF-8 file."""
  check_regular(path)
  try:
    return path.read_text(encoding="utf-8")
  except FileNotFoundError:
    raise InputError(f"{path}: no such file") from None
  except UnicodeDecodeError as error:
    raise InputError(f"{path}: byte {error.start} is not UTF-8 text") from None
  except OSError as error:
    raise InputError(f"{path}: {error.strerror}; expected a file") from None


def read_json_object(path: Path, expected: str) -> dict[str, Any]:
  """Returns the object in a JSON file; raises InputError for a key twice in an object."""

  def unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    value = dict(pairs)
    if len(value) < len(pairs):
      key = _first_repeated([key for key, _ in pairs])
      raise InputError(f"{path}: key {key!r} stands twice; expected {expected}")
    return value

  try:
    value = json.loads(read_text(path), object_pairs_hook=unique)
  except json.JSONDecodeError as error:
    raise InputError(
      f"{path}: line {error.lineno} is not JSON ({error.msg}); expected {expected}"
    ) from None
  except RecursionError:
    raise InputError(f"{path}: nested too deeply; expected {expected}") from None
  except InputError:
    raise
  except ValueError as error:  # Python reads no numbers of thousands of digits
    raise InputError(f"{path}: {error}; expected {expected}") from None
  if not isinstance(value, dict):
    raise InputError(f"{path}: holds a {type(value).__name__}; expected {expected}")
  return value


def write_json(path: Path, value: object) -> None:
  """Writes a value as indented UTF-8 JSON."""
  text = json.dumps(value, ensure_ascii=False, indent=2)
  path.write_text(text + "\n", encoding="utf-8")


def _first_repeated(keys: list[str]) -> str:
  seen: set[str] = set()
  return next(key for key in keys if key in seen or seen.add(key))
