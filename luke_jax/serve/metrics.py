"""Figures of a server in Prometheus's text form."""

import bisect
import threading
from collections import Counter
from collections.abc import Iterator, Sequence

KIND = "text/plain; version=0.0.4; charset=utf-8"
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
TEXTS = (1, 2, 4, 8, 16, 32, 64)


class _Histogram:
  """Numbers that were observed, counted by the bounds that they are below."""

  def __init__(self, bounds: Sequence[float]) -> None:
    self.bounds = bounds
    self.counts = [0] * (len(bounds) + 1)
    self.sum = 0.0

  def observe(self, value: float) -> None:
    self.counts[bisect.bisect_left(self.bounds, value)] += 1
    self.sum += value

  def lines(self, name: str) -> Iterator[str]:
    total = 0
    for bound, count in zip((*map(str, self.bounds), "+Inf"), self.counts, strict=True):
      total += count
      yield f'{name}_bucket{{le="{bound}"}} {total}'
    yield f"{name}_sum {self.sum}"
    yield f"{name}_count {total}"


class Metrics:
  """Counts of requests and texts, and how long answers and batches took. Threads may share it."""

  def __init__(self) -> None:
    """Starts at nothing."""
    self._lock = threading.Lock()
    self._requests: Counter[tuple[str, int]] = Counter()
    self._texts: Counter[str] = Counter()
    self._seconds = _Histogram(SECONDS)
    self._batch_seconds = _Histogram(SECONDS)
    self._batch_texts = _Histogram(TEXTS)

  def request(self, path: str, status: int, seconds: float) -> None:
    """Counts a request that has its answer; times those for predictions."""
    with self._lock:
      self._requests[path, status] += 1
      if path == "/predict" and status == 200:
        self._seconds.observe(seconds)

  def texts(self, model: str, number: int) -> None:
    """Counts texts that a model was asked about."""
    with self._lock:
      self._texts[model] += number

  def batch(self, texts: int, seconds: float) -> None:
    """Counts a batch that was computed."""
    with self._lock:
      self._batch_texts.observe(texts)
      self._batch_seconds.observe(seconds)

  def text(self, waiting: int, ready: bool) -> str:
    """Returns all figures, with the requests that wait now and whether programs are compiled."""
    with self._lock:
      return "\n".join(self._lines(waiting, ready)) + "\n"

  def _lines(self, waiting: int, ready: bool) -> Iterator[str]:
    yield from _about("requests_total", "counter", "Requests by path and status.")
    for (path, status), count in sorted(self._requests.items()):
      yield f'luke_jax_requests_total{{path="{path}",status="{status}"}} {count}'
    yield from _about("texts_total", "counter", "Texts that a model was asked about.")
    for model, count in sorted(self._texts.items()):
      yield f'luke_jax_texts_total{{model="{_escaped(model)}"}} {count}'
    for name, histogram, what in (
      ("predict_seconds", self._seconds, "Seconds to answer a request for predictions."),
      ("batch_seconds", self._batch_seconds, "Seconds to compute a batch."),
      ("batch_texts", self._batch_texts, "Texts of a batch."),
    ):
      yield from _about(name, "histogram", what)
      yield from histogram.lines(f"luke_jax_{name}")
    yield from _about("waiting_requests", "gauge", "Requests without an answer.")
    yield f"luke_jax_waiting_requests {waiting}"
    yield from _about("ready", "gauge", "1 once the programs are compiled.")
    yield f"luke_jax_ready {int(ready)}"


def _about(name: str, kind: str, what: str) -> tuple[str, str]:
  return f"# HELP luke_jax_{name} {what}", f"# TYPE luke_jax_{name} {kind}"


def _escaped(label: str) -> str:
  return label.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
