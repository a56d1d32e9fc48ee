"""Batches: the order of records, and the workers that make batches ahead.

Batch k is a function of the seed and of k, for any number of hosts and workers. So a resumed run
only needs the number of batches it has used.
"""

import dataclasses
import functools
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from luke_jax.errors import check_whole
from luke_jax.lazy import Lazy

if TYPE_CHECKING:
  import grain
else:
  grain = Lazy("grain")

Rows = dict[str, np.ndarray]


class Records(Protocol):
  """Random access to records; worker processes get it pickled, so it should be small."""

  def __len__(self) -> int:
    """Returns the number of records."""
    ...

  def __getitem__(self, index: int) -> object:
    """Returns one record."""
    ...


@runtime_checkable
class ReadsMany(Protocol):
  """Records of which several are read at once faster than one by one."""

  def __getitems__(self, indices: Sequence[int]) -> Sequence[object]:
    """Returns the records of these indices."""
    ...


MakeRows = Callable[[Sequence[Any], Sequence[np.random.Generator]], Rows]
WINDOW = 128  # batches, from whose rows those of a length are taken together
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

  @property
  def padded(self) -> int:
    """Returns the words of all records with their padding, each in the least room for it."""
    rooms = np.array(self.rooms)
    return int(rooms[np.searchsorted(rooms, self.records)].sum())

  def room(self, numbers: Sequence[int] | np.ndarray) -> int:
    """Returns the length that the records of these numbers are padded to."""
    most = self.records[numbers].max()
    return next(room for room in self.rooms if most <= room)


@dataclasses.dataclass(frozen=True)
class Data:
  """Sizes of batches, and the number of workers that make them."""

  batch_size: int = 32  # over all devices and micro-batches
  evaluation_batch_size: int = 32  # rows that are scored together
  workers: int = 0  # processes that make batches; 0 for threads of this process
  # Lengths that rows are padded to in training, each of which has a program; above 1, batches take
  # rows of like length.
  lengths: int = 1

  def __post_init__(self) -> None:
    numbers = {"batch_size": self.batch_size, "lengths": self.lengths}
    numbers["evaluation_batch_size"] = self.evaluation_batch_size
    check_whole(1, **{f"data.{name}": number for name, number in numbers.items()})
    check_whole(0, **{"data.workers": self.workers})


# Grain names its steps by their repr, which would spell out every record.
@dataclasses.dataclass(frozen=True, repr=False)
class TrainingBatches:
  """Training batches by number: this process's rows of each. Every epoch has its own order."""

  records: Records
  make_rows: MakeRows
  seed: int
  batch_size: int
  accumulation: int
  rows: np.ndarray  # indices of the rows that this process makes, in every micro-batch
  lengths: Lengths | None = None  # of the records, if batches take those of like length
  # The function that makes the rows of a batch by its number, where that is not always the same.
  staged: Callable[[int], MakeRows] | None = None

  def positions(self, batch: int) -> np.ndarray:
    """Returns positions in the endless stream of records, (micro-batches, rows)."""
    if self.lengths is None:
      positions = np.arange(batch * self.batch_size, (batch + 1) * self.batch_size)
    else:
      order = shuffled(len(self.records), self.seed)
      number, place = divmod(batch, WINDOW)
      positions = window(self.lengths, order, self.batch_size, number)[place]
    return positions.reshape(self.accumulation, -1)

  def record_ids(self, batch: int) -> list[int]:
    """Returns the indices of the records of a batch, over all processes."""
    order: Any = shuffled(len(self.records), self.seed)
    return [int(order[int(position)]) for position in self.positions(batch).ravel()]

  @property
  def rooms(self) -> tuple[int | None, ...]:
    """Returns the lengths that the rows of batches are padded to; None for that of the task."""
    return self.lengths.rooms if self.lengths else (None,)

  def room(self, batch: int) -> int | None:
    """Returns the length of the rows of a batch, one of `rooms`."""
    return self.lengths.room(self.record_ids(batch)) if self.lengths else None

  def __call__(self, batch: int) -> Rows:
    """Returns this process's arrays of a batch, (micro-batches, rows, ...)."""
    order: Any = shuffled(len(self.records), self.seed)
    positions = self.positions(int(batch))[:, self.rows]
    records = read_many(self.records, [int(order[int(x)]) for x in positions.ravel()])
    rngs = [np.random.default_rng((self.seed, int(position))) for position in positions.ravel()]
    make_rows = self.staged(int(batch)) if self.staged else self.make_rows
    rows = make_rows(records, rngs)
    return {name: x.reshape(*positions.shape, *x.shape[1:]) for name, x in rows.items()}

  def iterate(self, start: int, stop: int, workers: int) -> Iterator[Rows]:
    """Returns batches from `start` up to `stop`, some of them made ahead."""
    batches = grain.MapDataset.range(start, stop).map(self)
    options = grain.ReadOptions(num_threads=0 if workers else 2, prefetch_buffer_size=4)
    ahead = batches.to_iter_dataset(options)
    if workers:
      # Grain's worker processes read absl's flags, which are only parsed under absl.app.
      from absl import flags

      if not flags.FLAGS.is_parsed():
        flags.FLAGS.mark_as_parsed()
      per_worker = grain.MultiprocessingOptions(num_workers=workers, per_worker_buffer_size=2)
      ahead = ahead.mp_prefetch(per_worker, worker_init_fn=_end_with_parent)
    return iter(ahead)


@functools.lru_cache(maxsize=2)  # Grain never frees some memory of every dataset that is made
def shuffled(records: int, seed: int) -> "grain.MapDataset":
  """Returns the endless order of records, epoch after epoch, each shuffled differently."""
  return grain.MapDataset.range(records).seed(seed).shuffle().repeat()


def evaluation_order(records: int, lengths: Lengths | None, batch_size: int) -> list[np.ndarray]:
  """Returns the numbers of the records of each batch, all once; rows of like length together."""
  order = np.arange(records) if lengths is None else np.argsort(lengths.records, kind="stable")
  return [order[first : first + batch_size] for first in range(0, records, batch_size)]


def evaluation_rows(
  records: Records, make_rows: MakeRows, batch: np.ndarray, rows: np.ndarray
) -> Rows:
  """Returns this process's rows of a batch of records, which the last one of them fills up."""
  numbers = [int(number) for number in batch[np.minimum(rows, len(batch) - 1)]]
  rngs = [np.random.default_rng((0, number)) for number in numbers]
  return make_rows(read_many(records, numbers), rngs)


def read_many(records: Records, indices: Sequence[int]) -> Sequence[object]:
  """Returns records by their indices, all at once where `__getitems__` reads so."""
  if isinstance(records, ReadsMany):
    return records.__getitems__(indices)
  return [records[index] for index in indices]


def _end_with_parent(worker: int, workers: int) -> None:
  """Makes a worker end with the process that started it, however that ends, and only then."""
  for number in (signal.SIGINT, signal.SIGTERM):  # a terminal and SLURM send them to all processes
    signal.signal(number, signal.SIG_IGN)
  parent = multiprocessing.parent_process()
  assert parent is not None

  def wait() -> None:
    parent.join()
    os._exit(0)

  threading.Thread(target=wait, daemon=True).start()


def _with_room(plan: tuple, records: int, room: int) -> tuple[int, tuple[int, ...]]:
  """Returns a plan with another room, which so many more records are padded to."""
  words, rooms = plan
  return int(words + records * room), (*rooms, int(room))


@functools.lru_cache(maxsize=4)  # batches are made one after the other
def window(lengths: Lengths, order: Any, batch_size: int, number: int) -> np.ndarray:
  """Returns the positions of the rows of some neighbouring batches, (batches, rows).

  `order` has the numbers of records by their positions. A batch takes the next rows that are padded
  to its length, and batches come in the order of their rows, so that all records are read as often
  at any time. The last rows of a length, too few for a batch, are padded to the next one.
  """
  rows = WINDOW * batch_size
  positions = np.arange(number * rows, (number + 1) * rows)
  row_lengths = lengths.records[[int(order[int(position)]) for position in positions]]
  rooms = np.searchsorted(lengths.rooms, row_lengths)
  grouped = positions[np.argsort(rooms, kind="stable")].reshape(WINDOW, -1)
  return grouped[np.argsort(grouped.mean(axis=1), kind="stable")]
