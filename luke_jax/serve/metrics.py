"""Figures of a server in Prometheus's text form."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

KIND = "text/plain; version=0.0.4; charset=utf-8"
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
TEXTS = (1, 2, 4, 8, 16, 32, 64)


class Metrics:
  """Counts of requests and texts, and how long answers and batches took. Threads may share it."""

  def __init__(self) -> None:
    """Starts at nothing."""
    self._registry = CollectorRegistry()
    ours = {"namespace": "luke_jax", "registry": self._registry}
    requests, asked = "Requests by path and status.", "Texts that a model was asked about."
    self._requests = Counter("requests", requests, ("path", "status"), **ours)
    self._texts = Counter("texts", asked, ("model",), **ours)
    seconds = "Seconds to answer a request for predictions."
    self._seconds = Histogram("predict_seconds", seconds, buckets=SECONDS, **ours)
    computing = "Seconds to compute a batch."
    self._batch_seconds = Histogram("batch_seconds", computing, buckets=SECONDS, **ours)
    self._batch_texts = Histogram("batch_texts", "Texts of a batch.", buckets=TEXTS, **ours)
    self._waiting = Gauge("waiting_requests", "Requests without an answer.", **ours)
    self._ready = Gauge("ready", "1 once the programs are compiled.", **ours)

  def request(self, path: str, status: int, seconds: float) -> None:
    """Counts a request that has its answer; times those for predictions."""
    self._requests.labels(path, status).inc()
    if path == "/predict" and status == 200:
      self._seconds.observe(seconds)

  def texts(self, model: str, number: int) -> None:
    """Counts texts that a model was asked about."""
    self._texts.labels(model).inc(number)

  def batch(self, texts: int, seconds: float) -> None:
    """Counts a batch that was computed."""
    self._batch_texts.observe(texts)
    self._batch_seconds.observe(seconds)

  def text(self, waiting: int, ready: bool) -> str:
    """Returns all figures, with the requests that wait now and whether programs are compiled."""
    self._waiting.set(waiting)
    self._ready.set(ready)
    return generate_latest(self._registry).decode()
