"""Batches: which records, in which order, made ahead by workers.

Batch k is a function of the seed and of k, whatever the number of hosts and workers. So a run
that goes on needs to know nothing of its data but how many batches it took.
"""

import dataclasses
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import grain
import numpy as np

from luke_jax.errors import InputError

Rows = dict[str, np.ndarray]
MakeRows = Callable[[Sequence[Any], Sequence[np.random.Generator]], Rows]


@dataclasses.dataclass(frozen=True)
class Data:
  """How records become batches."""

  batch_size: int = 32  # of all devices together, all micro-batches included
  evaluation_batch_size: int = 32
  workers: int = 0  # processes that make batches; 0: threads of this one

  def __post_init__(self) -> None:
    for name, least in (("batch_size", 1), ("evaluation_batch_size", 1), ("workers", 0)):
      number = getattr(self, name)
      if type(number) is not int or number < least:
        raise InputError(f"data.{name}: {number!r}; expected a whole number from {least}")


@dataclasses.dataclass(frozen=True)
class TrainingBatches:
  """Makes this process's rows of any training batch. Every epoch has an order of its own."""

  records: Any  # random access; goes to the workers
  make_rows: MakeRows
  seed: int
  batch_size: int
  accumulation: int
  rows: np.ndarray  # of every micro-batch, that this process makes

  def positions(self, batch: int) -> np.ndarray:
    """Places in the endless stream of records, (micro-batches, rows)."""
    places = np.arange(batch * self.batch_size, (batch + 1) * self.batch_size)
    return places.reshape(self.accumulation, -1)

  def record_ids(self, batch: int) -> list[int]:
    """Which records make up a batch, on all processes together."""
    order: Any = shuffled(len(self.records), self.seed)
    return [int(order[int(place)]) for place in self.positions(batch).ravel()]

  def __call__(self, batch: int) -> Rows:
    """Arrays (micro-batches, rows, ...)."""
    order = shuffled(len(self.records), self.seed)
    places = self.positions(int(batch))[:, self.rows]
    records = [self.records[order[int(place)]] for place in places.ravel()]
    rngs = [np.random.default_rng((self.seed, int(place))) for place in places.ravel()]
    rows = self.make_rows(records, rngs)
    return {name: x.reshape(*places.shape, *x.shape[1:]) for name, x in rows.items()}

  def iterate(self, start: int, stop: int, workers: int) -> Iterator[Rows]:
    """Batches from `start` to before `stop`, some of them made ahead."""
    batches = grain.MapDataset.range(start, stop).map(self)
    options = grain.ReadOptions(num_threads=0 if workers else 2, prefetch_buffer_size=4)
    ahead = batches.to_iter_dataset(options)
    if workers:
      _parse_flags()
      per_worker = grain.MultiprocessingOptions(num_workers=workers, per_worker_buffer_size=2)
      ahead = ahead.mp_prefetch(per_worker)
    return iter(ahead)


@functools.lru_cache(maxsize=2)  # Grain keeps a little of every dataset that was ever made
def shuffled(records: int, seed: int) -> grain.MapDataset:
  """The endless order of records: epoch after epoch, each shuffled in its own way."""
  return grain.MapDataset.range(records).seed(seed).shuffle().repeat()


def evaluation_batches(
  records: Any, make_rows: MakeRows, batch_size: int, rows: np.ndarray
) -> Iterator[Rows]:
  """This process's rows of all records in order; the last record fills the last batch up."""
  for first in range(0, len(records), batch_size):
    places = np.minimum(first + rows, len(records) - 1)
    rngs = [np.random.default_rng((0, int(place))) for place in places]
    yield make_rows([records[int(place)] for place in places], rngs)


def _parse_flags() -> None:
  # Grain's worker processes read absl's flags, which nobody parses outside of absl.app.
  from absl import flags

  if not flags.FLAGS.is_parsed():
    flags.FLAGS.mark_as_parsed()
