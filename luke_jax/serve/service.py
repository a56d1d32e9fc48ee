"""Models that answer requests in JSON, apart from how those arrive, and figures of that."""

import contextlib
import dataclasses
import functools
import json
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any

import numpy as np
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from luke_jax.errors import InputError
from luke_jax.inference.batches import shapes_of
from luke_jax.model import Model
from luke_jax.serve.guard import Limits
from luke_jax.serve.joining import MOST_WEIGHT, Compute, Joined, TextItem
from luke_jax.serve.models import ServedModel, check_pieces, compute, question_of, served
from luke_jax.show.heat_maps import attention_of
from luke_jax.show.marked import hue
from luke_jax.tasks.contract import SENTENCE

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


LABELS = ("person", "city")  # that are asked for to compile, where any are
# Sentences of a text, and numbers of texts, whose programs are compiled before any request.
SHORT = ((1, 1),)
THOROUGH = (*SHORT, (1, 4), (1, 16), (8, 1), (8, 4), (24, 1))
# Those that a server compiles while nobody waits, so that little is padded: all lengths up to 128
# word pieces, and up to 64 of four texts. More would pad less, but a program takes 10 MB: models
# share `PROGRAMS`.
EXACT = (*((i, 1) for i in range(1, 26)), *((i, 4) for i in range(1, 13)))
PROGRAMS = 40
MOST_TOKENS = 64  # of a text whose attention is shown


def as_json(value: object) -> Any:
  """Returns a prediction as JSON: what has named fields as an object, a sequence as a list."""
  if dataclasses.is_dataclass(value) and not isinstance(value, type):
    names = [field.name for field in dataclasses.fields(value)]
    return {name: as_json(getattr(value, name)) for name in names}
  if isinstance(value, tuple) and type(value) is not tuple:  # of named fields
    return {name: as_json(x) for name, x in value._asdict().items()}  # pyrefly: ignore
  if isinstance(value, Mapping):
    return {str(name): as_json(x) for name, x in value.items()}
  if isinstance(value, list | tuple):
    return [as_json(x) for x in value]
  return value.item() if isinstance(value, np.generic) else value


def coloured(value: object) -> Any:
  """Returns a prediction as JSON for the page: what has a label or a title has its hue."""
  return _with_hues(as_json(value))


def _with_hues(value: Any) -> Any:
  if isinstance(value, list):
    return [_with_hues(x) for x in value]
  if not isinstance(value, dict):
    return value
  made = {name: _with_hues(x) for name, x in value.items()}
  if "label" in value or "title" in value:
    made["hue"] = hue(value.get("label") or value.get("title") or "none")
  return made


def attention(model: Model, request: Mapping[str, Any]) -> dict[str, object]:
  """Returns the tokens of a text and the attention between them, of a layer and a head."""
  text, layer, head = request.get("text"), request.get("layer", -1), request.get("head")
  if not isinstance(text, str):
    raise InputError("text: missing; expected a text")
  for name, number in (("layer", layer), ("head", head)):
    if type(number) is not int and (name, number) != ("head", None):
      raise InputError(f"{name}: {number!r:.60}; expected a number")
  spans = request.get("spans", []) if model.backbone.entities else []
  weights = attention_of(model, text, spans, layer=layer, head=head)
  tokens = [*weights.words, *weights.entities]
  if len(tokens) > MOST_TOKENS:
    raise InputError(
      f"text: {len(tokens)} tokens; expected at most {MOST_TOKENS} for its attention: one sentence"
    )
  rounded = np.round(weights.weights, 3).tolist()
  return {"tokens": tokens, "words": len(weights.words), "weights": rounded}


class Service:
  """Models by name, and one thread that predicts with them."""

  def __init__(self, models: Mapping[str, Model], limits: Limits, *, page: bool = False) -> None:
    """Begins to compile; the page needs less, and predictions with colours."""
    self.models = served(models)
    for one in self.models.values() if page else ():
      if one.task.answer is None:
        raise InputError(f"{one.name}: for {one.task.name}; expected a task that the page shows")
    self.limits = limits
    self.metrics = Metrics()
    self.joined = Joined(limits.waiting)
    self._in_json: Callable[[Any], object] = coloured if page else as_json
    self.warmed = self.joined.submit(object(), self._warm, self._steps(SHORT if page else THOROUGH))
    self._refining = False
    self._exact = self._steps(() if page else EXACT[: PROGRAMS // len(self.models)])

  @property
  def ready(self) -> bool:
    """Returns whether the programs are compiled."""
    return self.warmed.done() and not (self.warmed.cancelled() or self.warmed.exception())

  @property
  def readiness_fault(self) -> str:
    """Returns why the service is not ready, "" if it is."""
    if self.ready:
      return ""
    fault = self.warmed.done() and not self.warmed.cancelled() and self.warmed.exception()
    return f"a program failed: {fault!r:.200}" if fault else "programs are being compiled"

  def refine(self) -> None:
    """Compiles more programs while nobody waits, until the service is closed."""
    if not self._refining:
      self._refining = True
      steps = (functools.partial(self._refined, step) for step in self._exact)
      self.joined.meanwhile(steps)

  def observe(self, path: str, status: int, seconds: float) -> None:
    """Counts a request; after the first one, more programs are compiled.

    No server tells a mounted application that it begins to serve.
    """
    self.metrics.request(path, status, seconds)
    self.refine()

  def close(self) -> None:
    """Compiles no more."""
    self.warmed.cancel()
    self.joined.meanwhile(())
    self._refining = False

  def about(self) -> list[dict[str, object]]:
    """Returns a description of each model."""
    return [model.about() for model in self.models.values()]

  def predict(self, request: Mapping[str, object]) -> tuple[Future, bool]:
    """Returns the promise of a prediction for each text, and whether only one was asked for."""
    one = self.model(request)
    question = question_of(request, self.limits)
    check_pieces(one.model, question.items, self.limits.characters)
    self.metrics.texts(one.name, len(question.items))
    if not question.items:
      nothing: Future = Future()
      nothing.set_result([])
      return nothing, False
    key = (one.name, question.fields, json.dumps(question.settings))
    run = self._timed(compute(one.model, question, self._in_json))
    return self.joined.submit(key, run, question.items), question.single

  def attention(self, request: Mapping[str, object]) -> Future:
    """Returns the promise of the attention of a text."""
    model = self.model(request).model
    items = [TextItem(request, "", 0)]
    return self.joined.submit(object(), lambda _: [attention(model, request)], items)

  def model(self, request: Mapping[str, object]) -> ServedModel:
    """Returns the model that a request names; where there is one, it need not."""
    name = request.get("model")
    if name is None and len(self.models) == 1:
      return next(iter(self.models.values()))
    if not isinstance(name, str) or name not in self.models:
      given = "missing" if name is None else f"{name!r:.60}"
      raise InputError(f"model: {given}; expected one of {', '.join(self.models)}")
    return self.models[name]

  def _timed(self, run: Compute) -> Compute:
    def timed(items: Sequence[TextItem]) -> Sequence[Any]:
      begun = time.perf_counter()
      results = run(items)
      self.metrics.batch(len(items), time.perf_counter() - begun)
      return results

    return timed

  def _steps(self, shapes: Sequence[tuple[int, int]]) -> list[TextItem]:
    """Returns the steps of warming up, each of them heavy, so that requests come in between."""
    return [
      TextItem((model, *shape), model.name, MOST_WEIGHT)
      for model in self.models.values()
      for shape in shapes
    ]

  def _warm(self, steps: Sequence[TextItem]) -> list[None]:
    """Compiles what texts of some lengths and numbers need."""
    for step in steps:
      one, sentences, number = step.value
      text = " and ".join([SENTENCE] * sentences) + "."
      labels = {"labels": LABELS} if one.task.reads_labels else {}
      # A task that needs more than a text compiles at its first request.
      with contextlib.suppress(InputError):
        fields = {name: [x] * number for name, x in one.task.fields.items()}
        one.model.predict([text] * number, **fields, **labels)
    return [None] * len(steps)

  def _refined(self, step: TextItem) -> None:
    with shapes_of(step.value[0].model.backbone).exact():
      self._warm([step])
