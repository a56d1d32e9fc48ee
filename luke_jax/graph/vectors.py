"""Vectors of a graph in a folder: written, opened memory-mapped, and looked up by name.

The folder has `entity2id.txt`, `relation2id.txt`, and `entity2vec` and `relation2vec` as `.npy` or
as OpenKE's `.vec`, lines of numbers.
"""

import dataclasses
import warnings
from collections.abc import Sequence

import numpy as np

from luke_jax.errors import InputError
from luke_jax.files import Path, read_json, whole, write_json
from luke_jax.graph.ids import Ids, read_ids, write_ids

CONFIG = "transe.json"
PARTS = ("entity", "relation")


@dataclasses.dataclass(frozen=True, eq=False)
class Vectors:
  """Names with their vectors, the i-th name's in row i; those of a file stay on the disk."""

  ids: Ids
  table: np.ndarray  # (names, K)

  def find(self, names: Sequence[str]) -> np.ndarray:
    """Returns the row numbers of names such as "Q42", -1 for unknown ones."""
    of = self.ids.of
    return np.fromiter((of.get(name, -1) for name in names), np.int64, len(names))

  def rows(self, names: Sequence[str]) -> np.ndarray:
    """Returns vectors (names, K) in float32; raises InputError for an unknown name."""
    numbers = self.find(names)
    if (numbers < 0).any():
      raise InputError(f"{names[int((numbers < 0).argmax())]!r}: no vector; expected a known name")
    return np.asarray(self.table[numbers], np.float32)


def open_vectors(folder: Path, part: str = "entity") -> Vectors:
  """Opens the vectors of "entity" or "relation" in a folder; those in `.npy` are memory-mapped."""
  ids = read_ids(folder / f"{part}2id.txt")
  path = folder / f"{part}2vec.npy"
  table = _mapped(path) if path.is_file() else _parsed(folder / f"{part}2vec.vec")
  if len(table) != len(ids):
    path = path if path.is_file() else path.with_suffix(".vec")
    raise InputError(f"{path}: {len(table)} vectors; expected {len(ids)}, as {part}2id.txt has")
  return Vectors(ids, table)


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
  for part, own in zip(PARTS, vectors, strict=True):
    write_ids(folder / f"{part}2id.txt", own.ids)
    with whole(folder / f"{part}2vec.npy") as path, path.open("wb") as file:
      np.save(file, np.asarray(own.table, np.float32))
    if text:
      with whole(folder / f"{part}2vec.vec") as path:
        np.savetxt(path, own.table, fmt="%.6f", delimiter="\t")
  write_json(folder / CONFIG, config)


def _mapped(path: Path) -> np.ndarray:
  try:
    table = np.load(path, mmap_mode="r", allow_pickle=False)
  except (OSError, ValueError, EOFError) as fault:
    reason = str(fault).splitlines()[0]
    raise InputError(f"{path}: {reason}; expected an array of vectors") from None
  if table.ndim != 2 or table.dtype.kind != "f":
    found = f"{table.dtype} of shape {table.shape}"
    raise InputError(f"{path}: {found}; expected vectors, one in a row")
  return table


def _parsed(path: Path) -> np.ndarray:
  """Returns the numbers of lines, tabs or spaces between them."""
  try:
    with warnings.catch_warnings(), path.open(encoding="utf-8") as file:
      warnings.simplefilter("ignore", UserWarning)  # of a file without lines
      table = np.loadtxt(file, np.float32, ndmin=2, comments=None)
  except OSError as fault:
    raise InputError(f"{path}: {fault.strerror}; expected vectors, here or as .npy") from None
  except ValueError as fault:
    raise InputError(f"{path}: {_numbered_line(path, fault)}") from None
  bad = ~np.isfinite(table).all(axis=1)
  if bad.any():
    raise InputError(f"{path}, line {int(bad.argmax()) + 1}: not finite; expected numbers")
  return table


def _numbered_line(path: Path, fault: ValueError) -> str:
  """Returns the fault of the first line that is no vector as long as the first one."""
  width = None
  with path.open(encoding="utf-8", errors="replace") as file:
    for number, line in enumerate(file, start=1):
      parts = line.split()
      width = width or len(parts)
      try:
        numbers = list(map(float, parts))
      except ValueError:
        return f"line {number}: {line.strip()!r:.40}; expected numbers"
      if len(numbers) != width:
        return f"line {number}: {len(numbers)} numbers; expected {width}, as line 1 has"
  return f"{fault}; expected vectors, one in a line"
