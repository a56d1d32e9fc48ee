"""Names and their ids, as entity2id.txt and relation2id.txt hold them."""

import functools
from collections.abc import Sequence

from luke_jax.errors import InputError
from luke_jax.files import Path, whole


class Ids(Sequence[str]):
  """Names by id; `of` has the ids by name."""

  def __init__(self, names: Sequence[str]):
    self._names = tuple(names)

  def __len__(self) -> int:
    return len(self._names)

  def __getitem__(self, id):
    return self._names[id]

  @functools.cached_property
  def of(self) -> dict[str, int]:
    """Returns the ids by name."""
    return {name: id for id, name in enumerate(self._names)}


def read_ids(path: Path) -> Ids:
  """Reads a count and lines of `name<TAB>id`, in any order; ids are 0 to count - 1, each once."""
  try:
    lines = path.read_text(encoding="utf-8").rstrip().split("\n")
  except OSError as fault:
    raise InputError(f"{path}: {fault.strerror}; expected names and their ids") from None
  except UnicodeDecodeError as fault:
    raise InputError(f"{path}: byte {fault.start} is not UTF-8; expected text") from None
  count = lines[0].strip()
  if not count.isdecimal():
    raise InputError(f"{path}, line 1: {count!r:.40}; expected the number of names")
  if int(count) != len(lines) - 1:
    raise InputError(f"{path}, line 1: {count} names, but {len(lines) - 1} lines follow")
  names: list[str] = [""] * int(count)
  seen = set()
  for number, line in enumerate(lines[1:], start=2):
    name, _, id = line.rstrip("\r").rpartition("\t" if "\t" in line else " ")
    name, id = name.strip(), id.strip()
    if not name or not id.isdecimal() or int(id) >= len(names):
      expected = f"a name and an id below {len(names)}"
      raise InputError(f"{path}, line {number}: {line!r:.60}; expected {expected}")
    if names[int(id)] or name in seen:
      fault = f"the name {name!r}" if name in seen else f"the id {id}"
      raise InputError(f"{path}, line {number}: {fault} again; expected every one once")
    names[int(id)] = name
    seen.add(name)
  return Ids(names)


def write_ids(path: Path, ids: Sequence[str]) -> None:
  """Writes a count and lines of `name<TAB>id`."""
  with whole(path) as part, part.open("w", encoding="utf-8") as file:
    file.write(f"{len(ids)}\n")
    file.writelines(f"{name}\t{id}\n" for id, name in enumerate(ids))
