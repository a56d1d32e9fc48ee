"""Lines of `luke-jax data check` about examples: entities that can be found, and two examples."""

import dataclasses
import itertools
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from luke_jax.errors import InputError
from luke_jax.show.marked_tokens import marked, pieces_of
from luke_jax.tasks.files import Faults
from luke_jax.tasks.fine_tuning import counted
from luke_jax.tasks.ner.documents import Example, to_words
from luke_jax.tasks.ner.learnable import marks, missed
from luke_jax.tasks.ner.tags import Labelled
from luke_jax.text import Processor, Row, Tokenizer

SHOWN, MISSED = 2, 3  # examples, and entities that cannot be found
LONGEST = 40  # characters of such an entity
T = TypeVar("T")


def look(
  settings: Any,
  file: str,
  examples: Sequence[Any],
  faults: Faults,
  reading: Processor | None = None,
) -> list[str]:
  """Returns lines about a file's examples as a model's processor, if there is one, reads them.

  What cannot be read or learnt is added to the faults.
  """
  is_ner = settings.name == "ner"
  if reading is None:
    return [*_findable(settings, file, examples, faults), *_words(examples)] if is_ner else []
  settings = dataclasses.replace(settings, labels=settings.found_labels(examples))
  counts, counting = counted(reading)
  with warnings.catch_warnings():
    if is_ner:
      # It reports the number of missed entities, as the lines below do.
      warnings.simplefilter("ignore")
    rows = settings.features(counts, examples, faults)
  counting.warn(file)
  findable = _findable(settings, file, examples, faults, rows) if is_ner else ()
  return [*findable, *_pieces(reading.tokenizer, settings, examples, rows)]


def _findable(
  settings: Any,
  file: str,
  examples: Sequence[Example],
  faults: Faults,
  rows: Sequence[Row] | None = None,
) -> Iterator[str]:
  """Yields the first entities of documents that cannot be found, and how many can."""
  total = sum(len(example.spans or ()) for example in examples)
  if not total:
    return
  by_example: dict[int, list[Row]] = {number: [] for number in range(len(examples))}
  for row in rows or ():
    by_example[row.example].append(row)
  lost = [
    one
    for number, example in enumerate(examples)
    for one in missed(example, settings.span_words, rows and by_example[number])
  ]
  for one in lost[:MISSED]:
    yield f"{one.place}: {one.text[:LONGEST]!r} cannot be found: {one.why}"
  yield f"entities that can be found: {total - len(lost)} of {total}"
  if len(lost) == total:
    faults.found.append(InputError(f"{file}: no entity can be found; expected whole words"))


def _first(items: Iterable[T], has_spans: Callable[[T], Any]) -> list[T]:
  """Returns the first examples with spans, or the first examples if none has any."""
  listed = list(items)
  return list(itertools.islice(filter(has_spans, listed), SHOWN)) or listed[:SHOWN]


def _words(examples: Sequence[Example]) -> Iterator[str]:
  """Yields the sentences with documents' first entities, by words."""
  for example in _first((x for x in examples if x.words), _spans):
    spans = _spans(example)
    first, last = 0, 0
    for sentence in example.sentences:
      first, last = last, last + len(sentence)
      if not spans or min(spans).start < last:
        break
    inside = [Labelled(start - first, end - first, label) for start, end, label in spans]
    words = [f" {example.text[start:end]}" for start, end in example.words[first:last]]
    yield f"example {example.id}: {marked(words, [x for x in inside if x.end <= len(words)])}"


def _spans(example: Example) -> list[Labelled]:
  return [span for span in to_words(example, example.spans or ()) if span]


def _pieces(
  tokenizer: Tokenizer, settings: Any, examples: Sequence[Any], rows: Sequence[Row]
) -> Iterator[str]:
  """Yields rows with entities, by word pieces."""

  def spans(row: Row) -> list[Labelled]:
    if settings.name == "ner":
      return list(marks(row, settings.labels))
    return [Labelled(start, end, "") for start, end in row.entity_tokens.tolist()]

  firsts: dict[int, Row] = {}
  for row in rows:
    if row.example not in firsts or not spans(firsts[row.example]):
      firsts[row.example] = row
  for row in _first(firsts.values(), spans):
    pieces = pieces_of(tokenizer, row.input_ids.tolist())
    yield f"example {examples[row.example].id}: {marked(pieces, spans(row))}"
