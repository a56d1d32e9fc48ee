"""Texts or pairs of texts with entity spans, as a user gives them, and their checks."""

import itertools
from collections.abc import Callable, Iterator, Sequence, Sized
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

from luke_jax.errors import InputError
from luke_jax.text.parts import RowEntity, TextWithEntities, checked_spans
from luke_jax.text.tokenizer import MASK, MASK2, Bounds

Task = Literal["entity_classification", "entity_pair_classification", "entity_span_classification"]
TASKS = get_args(Task)

# Tasks that put markers around their entities, and the titles of those entities.
MARKED: dict[Task | None, tuple[str, ...]] = {
  "entity_classification": (MASK,),
  "entity_pair_classification": (MASK, MASK2),
}


@dataclass(frozen=True)
class TextInput:
  """A text or a pair, with character spans of entities and, outside tasks, their titles.

  An entity without a title is `[MASK]`, one with a title the vocabulary lacks is `[UNK]`.
  """

  text: str
  entity_spans: Sequence[Bounds] | None = None
  entities: Sequence[str] | None = None
  text_pair: str | None = None
  entity_spans_pair: Sequence[Bounds] | None = None
  entities_pair: Sequence[str] | None = None

  @property
  def has_entity_spans(self) -> bool:
    """Returns whether the example names its entities, which may be none."""
    return self.entity_spans is not None or self.entity_spans_pair is not None


def text_inputs(**columns: Any) -> list[TextInput]:
  """Returns examples from fields: single values, or lists with a value for every example."""
  lists = {name: column for name, column in columns.items() if column is not None}
  if isinstance(columns["text"], str):
    return [TextInput(**lists)]
  for name, column in {"text": columns["text"], **lists}.items():
    if isinstance(column, str) or not isinstance(column, Sized):
      raise InputError(f"{name}: {column!r}; expected a list, or one string as text")
    if len(column) != len(columns["text"]):
      raise InputError(
        f"{name}: {len(column)} for {len(columns['text'])} texts; expected one for each"
      )
  return [
    TextInput(**dict(zip(lists, values, strict=True)))
    for values in zip(*lists.values(), strict=True)
  ]


class _Given(NamedTuple):
  text: str
  spans: Sequence[Bounds] | None
  titles: Sequence[str] | None
  where: str


def mentions(
  example: TextInput, where: str, task: Task | None, entity_id: Callable[[str], int]
) -> list[TextWithEntities]:
  """Returns the example's one or two texts with their entities, checked for the task."""
  texts = [_Given(example.text, example.entity_spans, example.entities, where)]
  if example.text_pair is not None:
    pair = (example.text_pair, example.entity_spans_pair, example.entities_pair)
    texts.append(_Given(*pair, f"{where}, text_pair"))
  elif example.entity_spans_pair is not None or example.entities_pair is not None:
    raise InputError(f"{where}: entities of a second text; expected a text_pair with them")
  if task is not None:
    texts = [_for_task(example, texts[0], task)]
  number = itertools.count()
  checked = []
  for text, spans in enumerate(texts):
    entities = [
      RowEntity(entity_id(title), (0, 0), span, text, next(number))
      for span, title in _spans_with_titles(spans)
    ]
    checked.append(TextWithEntities(spans.text, entities, spans.where))
  if task == "entity_pair_classification":
    _check_apart(*checked)
  return checked


def _for_task(example: TextInput, columns: _Given, task: Task) -> _Given:
  if example.text_pair is not None or example.entities is not None:
    raise InputError(
      f"{columns.where}: a text_pair or entities; expected a text and entity_spans only, for task"
      f" {task}"
    )
  titles = MARKED.get(task)
  count = len(columns.spans) if isinstance(columns.spans, Sized) else None
  if count is None or (titles and count != len(titles)):
    raise InputError(
      f"{columns.where}: {'no' if count is None else count} entity spans; expected"
      f" {len(titles) if titles else 'a list of them'} for task {task}"
    )
  return columns._replace(titles=titles)


def _spans_with_titles(columns: _Given) -> Iterator[tuple[Bounds, str]]:
  if not isinstance(columns.text, str):
    raise InputError(
      f"{columns.where}: text of type {type(columns.text).__name__}; expected a string"
    )
  try:
    columns.text.encode()
  except UnicodeEncodeError as error:
    raise InputError(
      f"{columns.where}: half a surrogate pair at character {error.start}; expected Unicode text"
    ) from None
  spans = checked_spans(
    () if columns.spans is None else columns.spans, len(columns.text), columns.where
  )
  titles = [MASK] * len(spans) if columns.titles is None else columns.titles
  listed = isinstance(titles, Sized) and not isinstance(titles, str)
  if not listed or not all(isinstance(title, str) for title in titles):
    raise InputError(f"{columns.where}: entities are {titles!r}; expected a list of titles")
  if len(titles) != len(spans):
    raise InputError(
      f"{columns.where}: {len(titles)} entities and {len(spans)} entity spans; expected as many"
    )
  return zip(spans, titles, strict=True)


def _check_apart(columns: TextWithEntities) -> None:
  head, tail = (entity.characters for entity in columns.entities)
  if max(head[0], tail[0]) < min(head[1], tail[1]):
    raise InputError(f"{columns.where}: head {head} overlaps tail {tail}; expected them apart")
