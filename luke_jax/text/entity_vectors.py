"""Vectors of a knowledge graph's entities, in the files of ERNIE of Tsinghua.

A folder has `entity2id.txt`, a count and lines of `Qid<TAB>id`, and `entity2vec.vec`, a line of
numbers for each id, or the same as `entity2vec.npy`, which is read by need and not into memory.
"""

import dataclasses
import functools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from luke_jax.errors import InputError
from luke_jax.files import Path, whole
from luke_jax.files.copies import local

IDS, TEXT, ARRAY = "entity2id.txt", "entity2vec.vec", "entity2vec.npy"
NONE = -1  # the id of what has no vector


@dataclasses.dataclass(frozen=True, eq=False)
class EntityVectors:
  """Vectors of entities by their names, such as Q42. Pickled as its folder."""

  folder: Path
  ids: dict[str, int]
  table: np.ndarray  # (entities, K), on disk

  @property
  def width(self) -> int:
    """Returns the length of a vector, K."""
    return self.table.shape[1]

  @functools.cached_property
  def names(self) -> list[str]:
    """Returns the name of each id."""
    return sorted(self.ids, key=self.ids.__getitem__)

  def numbers(self, names: Sequence[str]) -> np.ndarray:
    """Returns the ids of names, -1 for unknown ones."""
    return np.array([self.ids.get(name, NONE) for name in names], np.int32)

  def __getitem__(self, ids: np.ndarray) -> np.ndarray:
    """Returns float32 vectors (..., K) of ids (...); zeros for -1."""
    found = np.zeros((*ids.shape, self.width), np.float32)
    there = ids != NONE
    found[there] = self.table[ids[there]]
    return found

  def nearest(self, name: str, count: int) -> list[tuple[str, float]]:
    """Returns the entities whose vectors have the smallest angles to that of one, and cosines."""
    if name not in self.ids:
      raise InputError(f"{self.folder}: no entity {name!r}; expected one of {IDS}")
    own = np.asarray(self.table[self.ids[name]], np.float32)
    lengths = np.linalg.norm(self.table, axis=1) * np.linalg.norm(own)
    cosines = self.table @ own / np.maximum(lengths, np.finfo(np.float32).tiny)
    order = np.argsort(-cosines, kind="stable")
    others = [int(id) for id in order[: count + 1] if id != self.ids[name]]
    return [(self.names[id], float(cosines[id])) for id in others[:count]]

  def __reduce__(self) -> tuple[Any, ...]:
    return read_entity_vectors, (self.folder,)


def read_entity_vectors(folder: str | Path) -> EntityVectors:
  """Opens the vectors of a folder; the first time, it writes those in text as an array beside it.

  Where the folder takes no file, they are read into memory.
  """
  folder = Path(folder)
  if not (folder / IDS).is_file():
    raise InputError(f"{folder}: no {IDS}; expected a folder of entity vectors")
  ids = _read_ids(folder / IDS)
  text, array = folder / TEXT, folder / ARRAY
  if not text.is_file() and not array.is_file():
    raise InputError(f"{folder}: no {TEXT} and no {ARRAY}; expected the vectors of {IDS}")
  newer = array.is_file() and not (text.is_file() and text.stat().st_mtime > array.stat().st_mtime)
  table = _open(array) if newer else _converted(text, array, len(ids))
  if table.ndim != 2 or len(table) != len(ids):
    raise InputError(f"{folder}: vectors of shape {table.shape}; expected {len(ids)}, as {IDS} has")
  return EntityVectors(folder, ids, table)


def _read_ids(path: Path) -> dict[str, int]:
  ids: dict[str, int] = {}
  lines = _lines(path)
  number, first = next(lines, (1, ""))
  if not first.strip().isdecimal():
    raise InputError(f"{path}: line {number}: {first!r:.60}; expected the number of entities")
  for number, line in lines:
    name, _, id = line.rpartition("\t" if "\t" in line else " ")
    name = name.strip()
    if not name or not id.strip().isdecimal() or name in ids:
      raise InputError(f"{path}: line {number}: {line!r:.60}; expected a new name, a tab and an id")
    ids[name] = int(id)
  if int(first) != len(ids) or (ids and set(ids.values()) != set(range(len(ids)))):
    raise InputError(f"{path}: {len(ids)} names; expected {first.strip()}, with ids from 0 on")
  return ids


def _lines(path: Path) -> Iterator[tuple[int, str]]:
  """Yields the lines of a file that are not empty, numbered from 1."""
  try:
    with path.open(encoding="utf-8") as file:
      for number, line in enumerate(file, start=1):
        if line.strip():
          yield number, line.rstrip("\r\n")
  except UnicodeDecodeError:
    raise InputError(f"{path}: no UTF-8; expected text") from None


def _open(path: Path) -> np.ndarray:
  try:
    return np.load(local(path), mmap_mode="r", allow_pickle=False)
  except (ValueError, OSError, EOFError) as fault:
    raise InputError(f"{path}: {fault}; expected an array of NumPy") from None


def _converted(text: Path, array: Path, count: int) -> np.ndarray:
  """Returns the vectors of a text file, written to an array if possible."""
  width = len(next(_lines(text), (1, ""))[1].split())
  try:
    with whole(array) as part:
      shape = (count, width)
      rows = np.lib.format.open_memmap(part, mode="w+", dtype=np.float32, shape=shape)
      _fill(rows, text)
      rows.flush()
  except OSError:
    rows = np.empty((count, width), np.float32)
    _fill(rows, text)
    return rows
  return _open(array)


def _fill(rows: np.ndarray, text: Path) -> None:
  filled = 0
  for number, line in _lines(text):
    values = line.split()
    if filled == len(rows) or len(values) != rows.shape[1]:
      raise InputError(
        f"{text}: line {number}: {len(values)} numbers; expected {len(rows)} lines of"
        f" {rows.shape[1]}, one for each entity"
      )
    try:
      rows[filled] = values
    except ValueError:
      raise InputError(f"{text}: line {number}: {line!r:.60}; expected numbers") from None
    filled += 1
  if filled != len(rows):
    raise InputError(f"{text}: {filled} lines; expected {len(rows)}, one for each entity")
