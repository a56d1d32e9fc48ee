"""Random access to the records of a folder."""

import dataclasses
import functools
import itertools
import resource
from collections.abc import Iterator, Sequence

import numpy as np
from array_record.python.array_record_module import ArrayRecordReader

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.files.copies import local
from luke_jax.pipeline.cache import cached
from luke_jax.pipeline.metadata import Metadata, check_files, read_metadata
from luke_jax.pipeline.records import Record, record_from_bytes

_AT_ONCE = 512  # records per read, when all are read in order


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
    found: dict[int, Record] = {}
    for file in np.unique(files).tolist():
      first = int(self._ends[file - 1]) if file else 0
      wanted = sorted({i for i, other in zip(indices, files, strict=True) if other == file})
      found |= zip(wanted, self._records(file, [i - first for i in wanted]), strict=True)
    return [found[index] for index in indices]

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
