"""Pairs of sentences with aligned entities, in the binary files of ERNIE of Tsinghua.

`NAME.bin` has int32 numbers, each one more than its value, and `NAME.idx` where items begin. An
item is the L ids of its words, a mask of the words, their types, the ids to predict (-1: none), the
entities (-1: none), a mask of the entities, and whether the second sentence is a random one.
"""

import contextlib
import dataclasses
import functools
import struct
from collections.abc import Iterable, Iterator

import numpy as np

from luke_jax.errors import InputError
from luke_jax.files import Path, whole
from luke_jax.files.copies import local

MAGIC = b"TNTIDX\0\0"
NONE = -1
_HEAD = struct.Struct("<5Q")  # version, code of int32, bytes of a number, items, sizes
_VERSION, _INT32, _BYTES = 1, 4, 4
_PARTS = 6  # arrays of L numbers


@dataclasses.dataclass(frozen=True, eq=False)
class Instance:
  """Two sentences between special tokens; the arrays are (W,), without padding."""

  input_ids: np.ndarray  # with some masked
  token_type_ids: np.ndarray
  labels: np.ndarray  # the ids before masking, -1 where they are not predicted
  entities: np.ndarray  # numbers of entities, -1 for none
  random_next: bool  # the second sentence is not the one that follows


@dataclasses.dataclass(frozen=True)
class StoredInstances:
  """Instances of a file by number, read by need. Pickled as its path."""

  path: str  # of NAME.bin, with NAME.idx beside it

  def __len__(self) -> int:
    return len(self._sizes)

  def __getitem__(self, index: int) -> Instance:
    if not 0 <= index < len(self):
      raise IndexError(index)
    start = self._starts[index]
    item = np.asarray(self._numbers[start : start + self._sizes[index]]) - 1
    ids, mask, types, labels, entities, _ = item[:-1].reshape(_PARTS, -1)
    words = int(mask.sum())
    parts = (part[:words] for part in (ids, types, labels, entities))
    return Instance(*parts, random_next=bool(item[-1]))

  def __getstate__(self) -> dict[str, str]:
    return {"path": self.path}

  @functools.cached_property
  def words(self) -> int:
    """Returns the length of the longest item, L."""
    return (int(self._sizes.max(initial=1)) - 1) // _PARTS

  @functools.cached_property
  def _index(self) -> tuple[np.ndarray, np.ndarray]:
    path = Path(self.path).with_suffix(".idx")
    try:
      data = path.read_bytes()
    except OSError as fault:
      raise InputError(f"{path}: {fault.strerror}; expected the index of {self.path}") from None
    start = len(MAGIC) + _HEAD.size
    if not data.startswith(MAGIC) or len(data) < start:
      raise InputError(f"{path}: no index of instances; expected one that begins with TNTIDX")
    version, code, width, items, sizes = _HEAD.unpack(data[len(MAGIC) : start])
    numbers = np.frombuffer(data, "<i8", offset=start) if len(data) % 8 == 0 else np.empty(0)
    kind = (version, code, width)
    if kind != (_VERSION, _INT32, _BYTES) or len(numbers) != 2 * (items + 1) + sizes:
      raise InputError(f"{path}: {items} items of kind {kind}; expected 32-bit numbers, all there")
    return numbers[items + 1 : 2 * items + 1], np.diff(numbers[items + 1 : 2 * items + 2])

  @property
  def _starts(self) -> np.ndarray:
    return self._index[0]

  @property
  def _sizes(self) -> np.ndarray:
    return self._index[1]

  @functools.cached_property
  def _numbers(self) -> np.ndarray:
    path = Path(self.path)
    end = int(self._starts[-1] + self._sizes[-1]) if len(self) else 0
    if (self._sizes % _PARTS != 1).any():
      raise InputError(f"{path}: items of other sizes; expected 6 L + 1 numbers each")
    if not path.is_file() or path.stat().st_size != _BYTES * end:
      raise InputError(f"{path}: not {_BYTES * end} bytes; expected those that its index has")
    return np.memmap(local(path), "<i4", "r")


def write_instances(path: Path, instances: Iterable[Instance], words: int) -> int:
  """Writes instances padded to `words` as a file and its index, and returns their number."""
  count = 0
  with contextlib.ExitStack() as parts:
    data, index = (parts.enter_context(whole(x)) for x in (path, path.with_suffix(".idx")))
    with data.open("wb") as file:
      for instance in instances:
        file.write(_item(instance, words).tobytes())
        count += 1
    size = _PARTS * words + 1
    offsets = np.arange(count + 1, dtype="<i8")
    head = _HEAD.pack(_VERSION, _INT32, _BYTES, count, count)
    arrays = (offsets, offsets * size, np.full(count, size, "<i8"))
    index.write_bytes(b"".join([MAGIC, head, *(array.tobytes() for array in arrays)]))
  return count


def _item(instance: Instance, words: int) -> np.ndarray:
  rows = np.zeros((_PARTS, words), "<i4")
  rows[3:5] = NONE
  length = len(instance.input_ids)
  rows[0, :length], rows[1, :length], rows[2, :length] = (
    instance.input_ids,
    1,
    instance.token_type_ids,
  )
  rows[3, :length], rows[4, :length] = instance.labels, instance.entities
  rows[5] = rows[4] != NONE
  return np.append(rows.ravel() + 1, np.int32(instance.random_next) + 1).astype("<i4")


@dataclasses.dataclass(frozen=True)
class InstancePart:
  """The first instances of a file, or the others."""

  instances: StoredInstances
  start: int
  stop: int

  def __len__(self) -> int:
    return self.stop - self.start

  def __getitem__(self, index: int) -> Instance:
    if not 0 <= index < len(self):
      raise IndexError(index)
    return self.instances[self.start + index]

  def __iter__(self) -> Iterator[Instance]:
    return (self[i] for i in range(len(self)))
