"""Pretraining records as bytes, and random access to those of a folder or of ERNIE's authors."""

import bisect
import dataclasses
import functools
import hashlib
import itertools
import resource
import struct
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from array_record.python.array_record_module import ArrayRecordReader

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.files.copies import local
from luke_jax.pipeline.metadata import Metadata, check_files, read_metadata
from luke_jax.pipeline.reads import cached

_AT_ONCE = 512  # records per read, when all are read in order
_HEAD = 3  # numbers before the arrays: page id, count of words, count of entities


@dataclasses.dataclass(frozen=True, eq=False)
class Record:
  """Consecutive sentences of one page, and the entities that its links refer to.

  Ids and positions are int32; positions count the words of `word_ids`, which has no special tokens.
  """

  page_id: int  # in the entity vocabulary; -1 if the page itself is not in it
  word_ids: np.ndarray  # (words,)
  entity_ids: np.ndarray  # (entities,)
  mention_starts: np.ndarray  # (entities,)
  mention_ends: np.ndarray  # (entities,), one after the mention's last word

  def to_bytes(self) -> bytes:
    """Returns little-endian int32: page id, counts of words and entities, and the four arrays."""
    head = (self.page_id, len(self.word_ids), len(self.entity_ids))
    arrays = (head, self.word_ids, self.entity_ids, self.mention_starts, self.mention_ends)
    return np.concatenate([np.asarray(array, "<i4") for array in arrays]).tobytes()


def record_from_bytes(data: bytes) -> Record:
  """Parses what `Record.to_bytes` returned."""
  numbers = np.frombuffer(data, "<i4") if len(data) % 4 == 0 else np.empty(0, "<i4")
  sizes = [int(n) for n in numbers[1:_HEAD]]
  if len(sizes) < 2 or min(sizes) < 0 or len(numbers) != _HEAD + sizes[0] + 3 * sizes[1]:
    raise InputError(f"a record of {len(data)} bytes: cut short or damaged; expected whole arrays")
  words, entities = sizes
  arrays = np.split(numbers[_HEAD:], np.cumsum([words, entities, entities]))
  return Record(int(numbers[0]), *arrays)


@dataclasses.dataclass(frozen=True)
class StoredRecords:
  """Records of a folder by index. Pickled as its path, so that every process opens the files."""

  folder: str

  def __len__(self) -> int:
    return self.metadata.records

  def __getitem__(self, index: int) -> Record:
    if not 0 <= index < len(self):
      raise IndexError(index)
    return self.__getitems__([index])[0]

  def __getitems__(self, indices: Sequence[int]) -> list[Record]:
    """Returns records by their indices: one read for each file that has some of them."""
    files = np.searchsorted(self._ends, indices, side="right")
    records: dict[int, Record] = {}
    for file in np.unique(files).tolist():
      first = int(self._ends[file - 1]) if file else 0
      wanted = sorted({i for i, other in zip(indices, files, strict=True) if other == file})
      records |= zip(wanted, self._records(file, [i - first for i in wanted]), strict=True)
    return [records[index] for index in indices]

  def __iter__(self) -> Iterator[Record]:
    for number, file in enumerate(self.metadata.files):
      for first in range(0, file.records, _AT_ONCE):
        yield from self._records(number, range(first, min(first + _AT_ONCE, file.records)))

  def __getstate__(self) -> dict[str, str]:
    return {"folder": self.folder}

  @functools.cached_property
  def metadata(self) -> Metadata:
    """Returns the folder's metadata, once its files have their sizes."""
    metadata = read_metadata(self.folder)
    check_files(self.folder, metadata)
    return metadata

  @functools.cached_property
  def _ends(self) -> np.ndarray:
    return np.array(list(itertools.accumulate(file.records for file in self.metadata.files)))

  def _records(self, file: int, indices: list[int] | range) -> list[Record]:
    name, count = self.metadata.files[file]
    path = Path(self.folder) / name
    reader = _reader(str(path), count)
    try:
      return [record_from_bytes(data) for data in reader.read(list(indices))]
    except (RuntimeError, InputError) as fault:  # the reader raises RuntimeError
      message = str(fault).partition("\n")[0]
      raise InputError(f"{path}: {message}; expected whole records, built again") from None


def most_open() -> int:
  """Returns the number of files that stay open: half of what a process may, since others read."""
  soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
  return 4096 if soft == resource.RLIM_INFINITY else max(1, min(4096, soft // 2))


@cached(most_open())
def _reader(path: str, count: int) -> ArrayRecordReader:
  """Returns the reader of a file, which this process keeps open and its threads share."""
  place = local(Path(path))
  with place.open("rb"):  # the reader reports 0 records for a file that it cannot open
    pass
  options = {"options": "readahead_buffer_size:0", "file_reader_buffer_size": 2**15}
  reader = ArrayRecordReader(str(place), **options)  # and for a damaged one
  if reader.num_records() != count:
    raise InputError(
      f"{path}: {reader.num_records()} records; expected {count}, as metadata.json has them"
    )
  return reader


@dataclasses.dataclass(frozen=True)
class Corpora:
  """Folders of records, sampled by their size to the power of `exponent` (mLUKE: 0.7).

  An epoch reads the largest folder once; of the others some records come more than once.
  """

  folders: tuple[StoredRecords, ...]
  exponent: float = 1.0

  def __len__(self) -> int:
    return self._ends[-1]

  def __getitem__(self, index: int) -> Record:
    return self.__getitems__([index])[0]

  def __getitems__(self, indices: Sequence[int]) -> list[Record]:
    """Returns records by their indices, those of each folder at once."""
    places = [self.place(index) for index in indices]
    read: list[Any] = [None] * len(places)
    for folder in {folder for folder, _ in places}:
      at = [i for i, place in enumerate(places) if place[0] == folder]
      records = self.folders[folder].__getitems__([places[i][1] for i in at])
      for i, record in zip(at, records, strict=True):
        read[i] = record
    return read

  def place(self, index: int) -> tuple[int, int]:
    """Returns the folder of a record, and its index in the folder."""
    if not 0 <= index < len(self):
      raise IndexError(index)
    folder = bisect.bisect_right(self._ends, index)
    first = self._ends[folder - 1] if folder else 0
    return folder, (index - first) % len(self.folders[folder])

  @functools.cached_property
  def _ends(self) -> list[int]:
    sizes = [len(folder) for folder in self.folders]
    most = max(sizes)
    return list(itertools.accumulate(round(most * (n / most) ** self.exponent) for n in sizes))


@dataclasses.dataclass(frozen=True)
class TrainingRecords:
  """All records except those of held-out pages, each of which the next other one replaces.

  So the corpus need not be read in advance to find the held-out records.
  """

  corpora: Corpora
  share: float  # of pages that are held out

  def __len__(self) -> int:
    return len(self.corpora)

  def __getitem__(self, index: int) -> Record:
    return self.__getitems__([index])[0]

  def __getitems__(self, indices: Sequence[int]) -> list[Record]:
    """Returns records by their indices, in as many rounds as held-out ones follow each other."""
    records: list[Any] = [None] * len(indices)
    waiting = dict(enumerate(indices))  # the index to look at, by the place in the result
    for _ in range(len(self)):
      for at, record in zip(waiting, self.corpora.__getitems__([*waiting.values()]), strict=True):
        if not is_held_out(record, self.corpora.place(waiting[at]), self.share):
          records[at] = record
      waiting = {at: (i + 1) % len(self) for at, i in waiting.items() if records[at] is None}
      if not waiting:
        return records
    raise InputError(f"{_names(self.corpora)}: every record is held out; expected some to train on")


@dataclasses.dataclass(frozen=True)
class HeldOutRecords:
  """First records of held-out pages, at most `most`, equally many from every folder."""

  corpora: Corpora
  share: float
  most: int

  def __len__(self) -> int:
    return len(self._places)

  def __getitem__(self, index: int) -> Record:
    folder, number = self._places[index]
    return self.corpora.folders[folder][number]

  @functools.cached_property
  def _places(self) -> list[tuple[int, int]]:
    each = -(-self.most // len(self.corpora.folders))
    places = [
      place
      for folder in range(len(self.corpora.folders))
      for place in itertools.islice(self._held_out(folder), each)
    ]
    if not places:
      raise InputError(
        f"{_names(self.corpora)}: none of {len(self.corpora)} records is held out at a share of"
        f" {self.share}; expected a larger share, or more records"
      )
    return places[: self.most]

  def _held_out(self, folder: int) -> Iterator[tuple[int, int]]:
    for number, record in enumerate(self.corpora.folders[folder]):
      if is_held_out(record, (folder, number), self.share):
        yield folder, number


def is_held_out(record: Record, place: tuple[int, int], share: float) -> bool:
  """Returns whether a record is held out from training, by a hash of its page.

  A page that is not in the entity vocabulary has no id in its records, so these are hashed by their
  place.
  """
  key = f"page {record.page_id}" if record.page_id >= 0 else f"record {place[0]} {place[1]}"
  digest = hashlib.blake2b(key.encode(), digest_size=8).digest()
  return int.from_bytes(digest) < share * 2**64


def _names(corpora: Corpora) -> str:
  return ", ".join(folder.folder for folder in corpora.folders)


MAGIC = b"TNTIDX\0\0"
NONE = -1
INDEX_HEAD = struct.Struct("<5Q")  # version, code of int32, bytes of a number, items, sizes
VERSION, INT32, BYTES = 1, 4, 4
PARTS = 6  # arrays of L numbers


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
    ids, mask, types, labels, entities, _ = item[:-1].reshape(PARTS, -1)
    words = int(mask.sum())
    parts = (part[:words] for part in (ids, types, labels, entities))
    return Instance(*parts, random_next=bool(item[-1]))

  def __getstate__(self) -> dict[str, str]:
    return {"path": self.path}

  @functools.cached_property
  def words(self) -> int:
    """Returns the length of the longest item, L."""
    return (int(self._sizes.max(initial=1)) - 1) // PARTS

  @functools.cached_property
  def _index(self) -> tuple[np.ndarray, np.ndarray]:
    path = Path(self.path).with_suffix(".idx")
    try:
      data = path.read_bytes()
    except OSError as fault:
      raise InputError(f"{path}: {fault.strerror}; expected the index of {self.path}") from None
    start = len(MAGIC) + INDEX_HEAD.size
    if not data.startswith(MAGIC) or len(data) < start:
      raise InputError(f"{path}: no index of instances; expected one that begins with TNTIDX")
    version, code, width, items, sizes = INDEX_HEAD.unpack(data[len(MAGIC) : start])
    numbers = np.frombuffer(data, "<i8", offset=start) if len(data) % 8 == 0 else np.empty(0)
    kind = (version, code, width)
    if kind != (VERSION, INT32, BYTES) or len(numbers) != 2 * (items + 1) + sizes:
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
    if (self._sizes % PARTS != 1).any():
      raise InputError(f"{path}: items of other sizes; expected 6 L + 1 numbers each")
    if not path.is_file() or path.stat().st_size != BYTES * end:
      raise InputError(f"{path}: not {BYTES * end} bytes; expected those that its index has")
    return np.memmap(local(path), "<i4", "r")


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
