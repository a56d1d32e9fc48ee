"""Batches of rows of like length, padded to the least of a few lengths that holds them.

Programs have fixed shapes, so every row of a run is padded to its longest one, and where most texts
are short, most of the time goes into padding. Here rows are drawn as ever; those of some
neighbouring batches are then put in order of length, cut into batches again, and these are drawn in
any order.
"""

import dataclasses
import functools
from typing import Any

import numpy as np

WINDOW = 32  # batches whose rows are put in order of length, at most an epoch
MULTIPLE = 8  # of the lengths that rows are padded to, as processors compute with several at once


@dataclasses.dataclass(frozen=True, eq=False)
class Lengths:
  """The lengths of all records in words, and those that batches are padded to, in order."""

  records: np.ndarray
  rooms: tuple[int, ...]

  @classmethod
  def of(cls, records: np.ndarray, number: int, longest: int) -> "Lengths":
    """Returns up to `number` lengths, the last of which holds the longest record.

    They are those with the least padding in all.
    """
    rooms = np.unique(np.minimum(np.ceil(records / MULTIPLE).astype(int) * MULTIPLE, longest))
    held = np.searchsorted(np.sort(records), rooms, side="right")
    # The words that all records up to a room are padded to, and the rooms for that.
    plans = [(int(count * room), (int(room),)) for count, room in zip(held, rooms, strict=True)]
    for _ in range(number - 1):
      plans = [
        min([plans[i], *(_with_room(plans[j], held[i] - held[j], rooms[i]) for j in range(i))])
        for i in range(len(rooms))
      ]
    return cls(records, plans[-1][1])

  def room(self, numbers: Any) -> int:
    """Returns the length that the records of these numbers are padded to."""
    most = self.records[numbers].max()
    return next(room for room in self.rooms if most <= room)


def _with_room(plan: tuple, records: int, room: int) -> tuple[int, tuple[int, ...]]:
  """Returns a plan with another room, which so many more records are padded to."""
  words, rooms = plan
  return int(words + records * room), (*rooms, int(room))


@dataclasses.dataclass(frozen=True)
class Order:
  """An endless order of records, cut into batches."""

  records: Any  # the numbers of records by their positions in the stream
  batch_size: int
  seed: int


@functools.lru_cache(maxsize=4)  # batches are made one after the other
def window(lengths: Lengths, order: Order, number: int) -> np.ndarray:
  """Returns the positions of the rows of some neighbouring batches, (batches, rows)."""
  batches = window_size(lengths, order.batch_size)
  rows = batches * order.batch_size
  positions = np.arange(number * rows, (number + 1) * rows)
  found = lengths.records[[int(order.records[int(position)]) for position in positions]]
  grouped = positions[np.argsort(found, kind="stable")].reshape(batches, -1)
  return grouped[np.random.default_rng((order.seed, number)).permutation(batches)]


def window_size(lengths: Lengths, batch_size: int) -> int:
  """Returns the number of batches whose rows are put in order together."""
  return max(1, min(WINDOW, len(lengths.records) // batch_size))
