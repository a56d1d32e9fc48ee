"""One thread that computes, where the items of waiting requests are joined into batches."""

import dataclasses
import itertools
import threading
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

MOST_ITEMS = 64  # of a batch
MOST_WEIGHT = 20_000  # characters of a batch, but that any one item may have more


class BusyError(Exception):
  """Too many requests wait for an answer."""


class TextItem(NamedTuple):
  """A question about one text, its place in the request, and its weight in characters."""

  value: Any
  place: str
  weight: int


Compute = Callable[[Sequence[TextItem]], Sequence[Any]]


@dataclasses.dataclass(eq=False)
class _Request:
  """Items of one request, the results so far, and the promise of all of them."""

  key: Hashable
  compute: Compute
  items: Sequence[TextItem]
  results: list[Any] = dataclasses.field(default_factory=list)
  future: Future = dataclasses.field(default_factory=Future)

  def left(self) -> Iterator[tuple["_Request", TextItem]]:
    """Yields the items without a result."""
    for item in itertools.islice(self.items, len(self.results), None):
      yield self, item

  def add(self, result: Any) -> None:
    """Takes the next result, or the fault that ends the request."""
    if self.future.done():
      return
    if isinstance(result, Exception):
      self._end(lambda: self.future.set_exception(result))
      return
    self.results.append(result)
    if len(self.results) == len(self.items):
      self._end(lambda: self.future.set_result(self.results))

  def _end(self, settle: Callable[[], None]) -> None:
    if self.future.set_running_or_notify_cancel():  # else nobody waits for it any more
      settle()


class Joined:
  """Computes the items of requests, those of requests with equal keys together.

  Requests take turns: one of a thousand texts does not hold up one of a single text. What nobody
  waits for any more is not computed.
  """

  def __init__(self, most_waiting: int) -> None:
    """Starts with nothing to do; of more requests than `most_waiting` the last are refused."""
    self._most_waiting = most_waiting
    self._requests: list[_Request] = []
    self._meanwhile: Iterator[Callable[[], None]] = iter(())
    self._lock = threading.Lock()
    self._thread = ThreadPoolExecutor(1, thread_name_prefix="luke-jax-serve")

  @property
  def waiting(self) -> int:
    """Returns the number of requests without an answer."""
    with self._lock:
      return len(self._awaited())

  def submit(self, key: Hashable, compute: Compute, items: Sequence[TextItem]) -> Future:
    """Returns the promise of the results of items; raises BusyError if too many wait.

    Whoever cancels it does not wait for it any more.
    """
    request = _Request(key, compute, items)
    with self._lock:
      self._requests = self._awaited()
      if len(self._requests) >= self._most_waiting:
        raise BusyError
      self._requests.append(request)
    self._thread.submit(self._turn)
    return request.future

  def meanwhile(self, steps: Iterable[Callable[[], None]]) -> None:
    """Takes these steps, one at a time, while no request waits; instead of those of before."""
    self._meanwhile = iter(steps)
    self._thread.submit(self._turn)

  def _awaited(self) -> list[_Request]:
    return [request for request in self._requests if not request.future.done()]

  def _turn(self) -> None:
    """Computes one batch or, where nobody waits, takes a step of what is done meanwhile."""
    with self._lock:
      self._requests = self._awaited()
      chosen, without_room = _next_batch(self._requests)
    if chosen:
      self._compute(chosen, without_room)
    elif step := next(self._meanwhile, None):
      step()
    else:
      return
    self._thread.submit(self._turn)

  def _compute(
    self, chosen: Sequence[tuple[_Request, TextItem]], without_room: Sequence[_Request]
  ) -> None:
    results = computed(chosen[0][0].compute, [item for _, item in chosen])
    for (request, _), result in zip(chosen, results, strict=True):
      request.add(result)
    key = chosen[0][0].key
    with self._lock:
      # Those that had their turn are behind the others. Of them come first those for which the
      # batch had no room: else a request of large texts would hold them up until it is done.
      self._requests = sorted(self._awaited(), key=lambda x: (x.key == key, x not in without_room))


def _next_batch(
  requests: Sequence[_Request],
) -> tuple[list[tuple[_Request, TextItem]], list[_Request]]:
  """Returns items of the first request and of those like it, one of each in turn.

  Beside them are the requests of which none is among them, as there was no room.
  """
  if not requests:
    return [], []
  alike = [request for request in requests if request.key == requests[0].key]
  turns = itertools.zip_longest(*(request.left() for request in alike))
  chosen: list[tuple[_Request, TextItem]] = []
  without_room: list[_Request] = []
  weight = 0
  for request, item in filter(None, itertools.chain.from_iterable(turns)):
    if len(chosen) == MOST_ITEMS or len(without_room) == len(alike):
      break
    if request in without_room:
      continue
    if chosen and weight + item.weight > MOST_WEIGHT:
      without_room.append(request)
      continue
    weight += item.weight
    chosen.append((request, item))
  served = {id(request) for request, _ in chosen}
  return chosen, [request for request in without_room if id(request) not in served]


def computed(compute: Compute, items: Sequence[TextItem]) -> list[Any]:
  """Returns the result of each item, or its fault: one at fault spoils no other's result."""
  try:
    return list(compute(items))
  except Exception as fault:
    if len(items) == 1:
      return [fault]
  middle = len(items) // 2
  return [*computed(compute, items[:middle]), *computed(compute, items[middle:])]
