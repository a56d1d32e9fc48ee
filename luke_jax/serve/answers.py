"""Answers to the page's questions: names, types, relations, answers, links, attention of a text."""

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from luke_jax import english
from luke_jax.convert.adapters import is_adapter_directory
from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.inference.settings import task_of
from luke_jax.model import Model, load
from luke_jax.runs.models import model_directory
from luke_jax.show.heat_maps import attention_of
from luke_jax.show.marked import hue
from luke_jax.tasks.known import BY_TAGS
from luke_jax.tasks.predictions import Link, Span
from luke_jax.tasks.relations.score import negative_of
from luke_jax.tasks.relations.task import RelationClassification

MOST_CHARACTERS = 20_000  # of a text
MOST_TOKENS = 64  # of a text whose attention is shown
MOST_TYPED = 40  # names of a text that get types
MOST_WAITING = 32  # requests, beside the one whose answer is computed
TASKS = ("ner", "typing", "relations", "qa", "linking")


class BusyError(Exception):
  """Too many requests wait for an answer."""


class GoneError(Exception):
  """Nobody waits for the answer any more."""


class Replies:
  """Models by task and name, and what they predict. One prediction is made at a time."""

  def __init__(self, models: Mapping[str, Model]) -> None:
    """Sorts models by the task that they were trained for."""
    self.by_task: dict[str, dict[str, Model]] = {}
    for name, model in models.items():
      task = task_of(model).name
      self.by_task.setdefault("ner" if task == BY_TAGS else task, {})[name] = model
    for task in self.by_task:
      if task not in TASKS:
        names = ", ".join(self.by_task[task])
        raise InputError(f"{names}: for {task}; expected models for {', '.join(TASKS)}")
    self._lock = threading.Lock()
    self._places = threading.BoundedSemaphore(MOST_WAITING + 1)

  def warm(self) -> None:
    """Compiles what short texts need, so that the first of them does not wait."""
    text = "Ana lives in Paris."
    requests: dict[str, dict[str, object]] = {
      "ner": {},
      "typing": {"spans": [[0, 3], [13, 18]]},
      "relations": {"head": [0, 3], "tail": [13, 18]},
      "qa": {"question": "Where does Ana live?"},
      "linking": {},
    }
    for task, models in self.by_task.items():
      for name in models:
        self.answer(task, {"text": text, "model": name, **requests[task]})

  def about(self) -> dict[str, Any]:
    """Returns the models of each task."""
    listed = {
      task: [
        {"name": name, "system": model.config.title, "kinds": _kinds(model), **_sizes(model)}
        for name, model in models.items()
      ]
      for task, models in self.by_task.items()
    }
    return {"tasks": listed}

  def answer(
    self, kind: str, request: Mapping[str, object], is_gone: Callable[[], bool] = lambda: False
  ) -> dict[str, Any]:
    """Returns the answer to a request of a kind: a task, or attention.

    Raises BusyError where too many wait, and GoneError where its turn comes and `is_gone` says that
    nobody waits for it: who types into a long text has asked again since.
    """
    text = request.get("text")
    if not isinstance(text, str):
      raise InputError("text: missing; expected a text")
    if len(text) > MOST_CHARACTERS:
      raise InputError(f"text: {len(text):,} characters; expected at most {MOST_CHARACTERS:,}")
    if kind != "attention" and kind not in self.by_task:
      raise InputError(f"{kind}: no model for it; expected one of {', '.join(self.by_task)}")
    if not text.strip():
      return {"spans": [], "answers": []}
    model = self._model(kind, request.get("model"))
    with self._turn():
      if is_gone():
        raise GoneError
      return _ANSWERS[kind](model, text, request)

  @contextlib.contextmanager
  def _turn(self) -> Iterator[None]:
    if not self._places.acquire(blocking=False):
      raise BusyError
    try:
      with self._lock:
        yield
    finally:
      self._places.release()

  def _model(self, kind: str, name: object) -> Model:
    tasks = TASKS if kind == "attention" else (kind,)
    models = {n: model for task in tasks for n, model in self.by_task.get(task, {}).items()}
    if not isinstance(name, str) or name not in models:
      raise InputError(f"model: {name!r}; expected one of {', '.join(models)}")
    return models[name]


def read_models(paths: Iterable[Path], backbone: Path | None = None) -> dict[str, Model]:
  """Reads models by their directories or names; those in the box if there are none.

  `backbone` is that of the adapters among them.
  """
  chosen = list(paths) or [Path(english.NAME) / task for task in english.TASKS]
  models = {}
  for path in chosen:
    directory = model_directory(path)
    of_adapter = backbone if is_adapter_directory(directory) else None
    models[str(path)] = load(directory, backbone=of_adapter)
  return models


def _kinds(model: Model) -> list[str]:
  """Returns the kinds of queries that a model's attention has."""
  if not model.backbone.entities:
    return ["word → word"]
  return [f"{one} → {other}" for one in ("word", "entity") for other in ("word", "entity")]


def _sizes(model: Model) -> dict[str, int]:
  config = model.config
  return {"layers": config.num_hidden_layers, "heads": config.num_attention_heads}


def _spans(model: Model, text: str, request: Mapping[str, object]) -> dict[str, object]:
  return {"spans": _coloured(model.predict(text))}


def _types(model: Model, text: str, request: Mapping[str, object]) -> dict[str, object]:
  spans = request.get("spans")
  if not isinstance(spans, list):
    raise InputError("spans: missing; expected a list of [start, end]")
  some = spans[:MOST_TYPED]
  predicted = model.predict([text] * len(some), span=some) if some else []
  return {"types": [_coloured(types) for types in predicted]}


def _coloured(spans: Iterable[Span | Link]) -> list[dict[str, object]]:
  return [span._asdict() | {"label": span.label, "hue": hue(span.label)} for span in spans]


def _relation(model: Model, text: str, request: Mapping[str, object]) -> dict[str, Any]:
  relation = model.predict(text, head=_given(request, "head"), tail=_given(request, "tail"))
  task = task_of(model)
  assert isinstance(task, RelationClassification)
  negative = task.negative or negative_of(model.labels)
  relations = sum(label != negative for label in model.labels)
  answer = {"label": relation.label, "score": relation.score}
  return answer | {"none": relation.label == negative, "known": relations}


def _answers(model: Model, text: str, request: Mapping[str, object]) -> dict[str, Any]:
  question = _given(request, "question")
  return {"answers": [answer._asdict() for answer in model.predict(text, question=question)[:3]]}


def _attention(model: Model, text: str, request: Mapping[str, Any]) -> dict[str, Any]:
  layer, head = request.get("layer", -1), request.get("head")
  for name, number in (("layer", layer), ("head", head)):
    if type(number) is not int and (name, number) != ("head", None):
      raise InputError(f"{name}: {number!r}; expected a number")
  spans = request.get("spans", []) if model.backbone.entities else []
  attention = attention_of(model, text, spans, layer=layer, head=head)
  tokens = [*attention.words, *attention.entities]
  if len(tokens) > MOST_TOKENS:
    raise InputError(
      f"text: {len(tokens)} tokens; expected at most {MOST_TOKENS} for its attention: one sentence"
    )
  weights = np.round(attention.weights, 3).tolist()
  return {"tokens": tokens, "words": len(attention.words), "weights": weights}


def _given(request: Mapping[str, object], name: str) -> Any:
  if request.get(name) is None:
    raise InputError(f"{name}: missing; expected it")
  return request[name]


_ANSWERS = {
  "ner": _spans,
  "typing": _types,
  "relations": _relation,
  "qa": _answers,
  "linking": _spans,
  "attention": _attention,
}
