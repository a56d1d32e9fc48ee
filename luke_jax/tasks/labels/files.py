"""Files of texts with labelled names: all forms of named entities, or several labels a name."""

import bisect
import dataclasses
import functools
from collections.abc import Mapping
from typing import Any

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.formats.files import Faults, listed, read_text
from luke_jax.formats.records import read_records
from luke_jax.tasks.ner import documents
from luke_jax.tasks.ner import files as ner_files
from luke_jax.tasks.ner.documents import PAPER, Reading
from luke_jax.tasks.predictions import Labelled
from luke_jax.text.tokenizer import Bounds

UNKNOWN, MENTIONS = "unknown", "mentions"


@dataclasses.dataclass(frozen=True)
class Example(documents.NamesExample):
  """A document whose names have a label each, and perhaps more; of some nobody knows labels."""

  also: tuple[tuple[str, ...], ...] = ()  # labels of each span beside its first
  unknown: tuple[Bounds, ...] = ()  # characters of names that may have any label
  mentions: tuple[Bounds, ...] | None = None  # characters to label; else names have to be found

  @property
  def labels(self) -> tuple[tuple[str, ...], ...]:
    """Returns all labels of each span."""
    spans = self.spans or ()
    return tuple((x.label, *also) for x, also in zip(spans, self.also, strict=True))

  def words_of(self, mention: Bounds) -> Bounds:
    """Returns the words that a mention is in, the first and the one after the last."""
    starts, ends = zip(*self.words, strict=True)
    return bisect.bisect_right(ends, mention[0]), bisect.bisect_left(starts, mention[1])


def read(path: Path, faults: Faults, reading: Reading = PAPER) -> list[Example]:
  """Reads a file of named entities in any form, or lines of JSON with several labels a name."""
  if path.suffix == ".jsonl":
    return read_records(path, functools.partial(parse, reading=reading), faults)
  return [_of(example) for example in ner_files.read(path, faults, reading)]


def parse(value: Mapping[str, Any], id: str, place: str, reading: Reading = PAPER) -> Example:
  """Returns the document in an object of JSON lines.

  A span is [start, end, label, …], with at least one label; `unknown` are spans without, and
  `mentions` those that are to have labels.
  """
  spans, also = value.get("spans"), ()
  if isinstance(spans, list) and all(isinstance(x, list) and len(x) > 2 for x in spans):
    also = tuple(tuple(x[3:]) for x in spans)
    if wrong := [x for more in also for x in more if not isinstance(x, str) or not x.strip()]:
      raise InputError(f"{place}: spans: {wrong[0]!r}; expected labels of words")
    value = {**value, "spans": [x[:3] for x in spans]}
  unknown = _bounds(value, place) if UNKNOWN in value else ()
  rest = {name: x for name, x in value.items() if name not in (UNKNOWN, MENTIONS)}
  example = _of(ner_files.parse(rest, id, place, reading), also, unknown)
  if MENTIONS not in value:
    return example
  return dataclasses.replace(example, mentions=_mentions(value, example))


def _mentions(value: Mapping[str, Any], example: Example) -> tuple[Bounds, ...]:
  """Returns the mentions of an object as characters; raises InputError for one without words."""
  text, mentions = read_text(value, example.place), []
  for mention in listed(value, MENTIONS, example.place):
    start, end = text.span(mention, MENTIONS)
    if example.as_words and not isinstance(mention, str):
      start, end = example.words[mention[0]][0], example.words[mention[1] - 1][1]
    first, last = example.words_of((start, end))
    if first >= last:
      raise InputError(f"{example.place}: {MENTIONS}: {mention}: no word; expected one at least")
    mentions.append((start, end))
  return tuple(dict.fromkeys(mentions))


def to_json(example: Example) -> dict[str, object]:
  """Returns the object that `parse` reads as the example."""
  value = ner_files.to_json(example)
  if example.mentions is not None:
    mentions = [Labelled(*x, "") for x in example.mentions]
    value[MENTIONS] = [list(x[:2]) for x in ner_files.as_in_files(example, mentions)]
  if example.spans is None:
    return value
  in_file = ner_files.as_in_files(example, example.spans)
  spans = [[*x, *also] for x, also in zip(in_file, example.also, strict=True)]
  return value | {"spans": spans, UNKNOWN: [list(x) for x in example.unknown]}


def _of(
  example: documents.NamesExample,
  also: tuple[tuple[str, ...], ...] = (),
  unknown: tuple[Bounds, ...] = (),
) -> Example:
  fields = {x.name: getattr(example, x.name) for x in dataclasses.fields(documents.NamesExample)}
  return Example(**fields, also=also or ((),) * len(example.spans or ()), unknown=unknown)


def _bounds(value: Mapping[str, Any], place: str) -> tuple[Bounds, ...]:
  found = listed(value, UNKNOWN, place)
  for span in found:
    is_span = isinstance(span, list) and list(map(type, span)) == [int, int]
    if not (is_span and 0 <= span[0] < span[1]):
      raise InputError(f"{place}: {UNKNOWN}: {span!r}; expected [start, end], the start first")
  return tuple((start, end) for start, end in found)
