"""Vectors of a graph in a folder: written, opened memory-mapped, and looked up by name or nearness.

The folder has `entity2id.txt`, and `entity2vec` as `.npy` or as `.vec` of OpenKE and of ERNIE's
authors, lines of numbers; and the same of `relation`, where the graph's relations are needed.
"""

import dataclasses
import itertools
import os
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from luke_jax.errors import InputError
from luke_jax.files import Path, in_bucket, read_json, whole, write_json
from luke_jax.files.copies import local
from luke_jax.graph.triples import Ids, read_ids, write_ids

CONFIG = "transe.json"
PARTS = ("entity", "relation")
NONE = -1  # the id of what has no vector
_LINES = 2**14  # of a text that are read at once
BLOCK = 2**16  # vectors that are compared at once


@dataclasses.dataclass(frozen=True, eq=False)
class Vectors:
  """Names with their vectors, the i-th name's in row i; those of a file stay on the disk."""

  ids: Ids
  table: np.ndarray  # (names, K)
  folder: Path | None = None

  @property
  def width(self) -> int:
    """Returns the length of a vector, K."""
    return self.table.shape[1]

  def find(self, names: Sequence[str]) -> np.ndarray:
    """Returns the ids of names such as "Q42", -1 for unknown ones."""
    of = self.ids.of
    return np.fromiter((of.get(name, NONE) for name in names), np.int32, len(names))

  def at(self, ids: np.ndarray) -> np.ndarray:
    """Returns float32 vectors (..., K) of ids (...); zeros for -1."""
    rows = np.zeros((*ids.shape, self.width), np.float32)
    there = ids != NONE
    rows[there] = self.table[ids[there]]
    return rows

  def rows(self, names: Sequence[str]) -> np.ndarray:
    """Returns vectors (names, K) in float32; raises InputError for an unknown name."""
    ids = self.find(names)
    if (ids == NONE).any():
      unknown = names[int((ids == NONE).argmax())]
      raise InputError(f"{unknown!r}: no vector; expected a known name")
    return self.at(ids)


def open_vectors(folder: str | Path, part: str = "entity") -> Vectors:
  """Opens the vectors of "entity" or "relation" in a folder, memory-mapped.

  Those in text become an array beside it once, and again when the text is newer; where the folder
  takes no file, they are read into memory.
  """
  folder = Path(folder)
  names, path = vector_files(folder, part)
  ids = read_ids(names)
  table = _mapped(path) if path.suffix == ".npy" else _converted(path, len(ids))
  if len(table) != len(ids):
    raise InputError(f"{path}: {len(table)} vectors; expected {len(ids)}, as {part}2id.txt has")
  return Vectors(ids, table, folder)


def vector_files(folder: Path, part: str = "entity") -> tuple[Path, Path]:
  """Returns the files of a folder's names and of its vectors; an array goes before text."""
  array, text = (folder / f"{part}2vec{suffix}" for suffix in (".npy", ".vec"))
  path = array if array.is_file() else text
  if not path.is_file():
    raise InputError(f"{folder}: no {array.name} and no {text.name}; expected one of them")
  return folder / f"{part}2id.txt", path


def folder_norm(folder: Path) -> int | None:
  """Returns the norm that the vectors of a folder were trained with, if it says so."""
  config = read_json(folder / CONFIG)
  norm = config.get("norm") if isinstance(config, dict) else None
  return norm if norm in (1, 2) else None


def write_vectors(
  folder: Path, vectors: tuple[Vectors, Vectors], config: dict, *, text: bool
) -> None:
  """Writes vectors of entities and relations, with their names; `text` adds the `.vec` files."""
  folder.mkdir(parents=True, exist_ok=True)
  for part, table in zip(PARTS, vectors, strict=True):
    write_ids(folder / f"{part}2id.txt", table.ids)
    with whole(folder / f"{part}2vec.npy") as path, path.open("wb") as file:
      np.save(file, np.asarray(table.table, np.float32))
    if text:
      with whole(folder / f"{part}2vec.vec") as path:
        np.savetxt(path, table.table, fmt="%.6f", delimiter="\t")
  write_json(folder / CONFIG, config)


def _mapped(path: Path) -> np.ndarray:
  try:
    table = np.load(local(path), mmap_mode="r", allow_pickle=False)
  except (OSError, ValueError, EOFError) as fault:
    reason = str(fault).splitlines()[0]
    raise InputError(f"{path}: {reason}; expected an array of vectors") from None
  if table.ndim != 2 or table.dtype.kind != "f":
    actual = f"{table.dtype} of shape {table.shape}"
    raise InputError(f"{path}: {actual}; expected vectors, one in a row")
  return table


def _converted(text: Path, count: int) -> np.ndarray:
  """Returns the vectors of a text, by an array beside it or beside its copy."""
  copy = local(text)
  array = copy.with_name(f"{copy.name}.npy")
  # The copy of an object is in a folder of its version, and newer with each use. An array of a file
  # has its time: that of another text may be earlier, as after `cp -p` or by another clock.
  made_of = copy.stat().st_mtime_ns
  if array.is_file() and (in_bucket(text) or array.stat().st_mtime_ns == made_of):
    return _mapped(array)
  first = next(_numbered_lines(text), None)
  if first is None:
    raise InputError(f"{text}: no vectors; expected {count}, one for each name")
  shape = (count, len(first[1].split()))
  try:
    with whole(array) as part:
      rows = np.lib.format.open_memmap(part, mode="w+", dtype=np.float32, shape=shape)
      _fill(rows, text)
      rows.flush()
    os.utime(array, ns=(made_of, made_of))
  except OSError:
    rows = np.empty(shape, np.float32)
    _fill(rows, text)
    return rows
  return _mapped(array)


def _numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
  """Yields the lines of a text that are not empty, numbered from 1."""
  try:
    with local(path).open(encoding="utf-8") as file:
      for number, line in enumerate(file, start=1):
        if not line.isspace():
          yield number, line
  except UnicodeDecodeError:
    raise InputError(f"{path}: not UTF-8; expected lines of numbers") from None


def _fill(rows: np.ndarray, text: Path) -> None:
  filled, lines = 0, _numbered_lines(text)
  while block := list(itertools.islice(lines, _LINES)):
    try:
      numbers = np.loadtxt([line for _, line in block], np.float32, ndmin=2, comments=None)
    except ValueError:
      numbers = np.empty((0, 0), np.float32)
    if numbers.shape[1] != rows.shape[1] or not np.isfinite(numbers).all():
      raise InputError(f"{text}, {_fault(block, rows.shape[1])}")
    place = slice(filled, filled + len(block))
    if place.stop <= len(rows):
      rows[place] = numbers
    filled = place.stop
  if filled != len(rows):
    raise InputError(f"{text}: {filled} vectors; expected {len(rows)}, one for each name")


def _fault(lines: Sequence[tuple[int, str]], width: int) -> str:
  """Returns the fault of the first line that is no vector of that width."""
  for number, line in lines:
    parts = line.split()
    try:
      finite = np.isfinite(np.array(parts, np.float32)).all()
    except ValueError:
      return f"line {number}: {line.strip()!r:.40}; expected numbers"
    if len(parts) != width:
      return f"line {number}: {len(parts)} numbers; expected {width}, as the first line has"
    if not finite:
      return f"line {number}: not finite; expected numbers"
  return f"line {lines[0][0]}: expected vectors, one in a line"


def nearest(
  table: np.ndarray, query: np.ndarray, count: int, norm: int
) -> tuple[np.ndarray, np.ndarray]:
  """Returns the rows of a table (U, K) that are nearest to a vector (K,), and their distances."""
  return _smallest(table, count, lambda block: np.linalg.norm(block - query, norm, axis=1))


def most_similar(table: np.ndarray, query: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
  """Returns the rows of a table (U, K) at the smallest angles to a vector (K,), and cosines."""
  unit = query / _lengths(query)
  rows, opposite = _smallest(table, count, lambda block: -(block @ unit) / _lengths(block))
  return rows, -opposite


def _lengths(vectors: np.ndarray) -> np.ndarray:
  return np.maximum(np.linalg.norm(vectors, axis=-1), np.finfo(np.float32).tiny)


def _smallest(
  table: np.ndarray, count: int, measure: Callable[[np.ndarray], np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
  rows = np.empty(0, np.int64)
  values = np.empty(0, np.float32)
  for start in range(0, len(table), BLOCK):
    block = np.asarray(table[start : start + BLOCK], np.float32)
    rows = np.concatenate([rows, start + np.arange(len(block))])
    values = np.concatenate([values, measure(block)])
    order = np.argsort(values, kind="stable")[:count]
    rows, values = rows[order], values[order]
  return rows, values
