"""Several folders of records as one corpus, and its split into training and held-out records."""

import bisect
import dataclasses
import functools
import hashlib
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from luke_jax.errors import InputError
from luke_jax.pipeline.records import Record
from luke_jax.pipeline.stored import StoredRecords


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
    found: list[Any] = [None] * len(places)
    for folder in {folder for folder, _ in places}:
      at = [i for i, place in enumerate(places) if place[0] == folder]
      records = self.folders[folder].__getitems__([places[i][1] for i in at])
      for i, record in zip(at, records, strict=True):
        found[i] = record
    return found

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
    found: list[Any] = [None] * len(indices)
    waiting = dict(enumerate(indices))  # the index to look at, by the place in the result
    for _ in range(len(self)):
      for at, record in zip(waiting, self.corpora.__getitems__([*waiting.values()]), strict=True):
        if not is_held_out(record, self.corpora.place(waiting[at]), self.share):
          found[at] = record
      waiting = {at: (i + 1) % len(self) for at, i in waiting.items() if found[at] is None}
      if not waiting:
        return found
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
