"""Texts with their names, what these mean together, and how they are related, in files."""

import bisect
import dataclasses
import functools
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.formats.files import Faults, Text, check_fields, listed, read_text
from luke_jax.formats.records import is_spreadsheet, read_records
from luke_jax.tasks.ner.documents import PAPER, joined, sentences_of
from luke_jax.tasks.relations.score import NO_RELATION
from luke_jax.text.tokenizer import Bounds

FIELDS = ("names", "facts", "unknown", "sentences")
COLUMNS = ("text", "head", "tail", "label")  # of a spreadsheet, a pair in each row
OF_DOC_RED = ("sents", "vertexSet")
MOST_NAMES = 10_000
_NO_NAME = re.compile(r"[^\w\s]|_")


class NameOfText(NamedTuple):
  """A name: all places of a text that mean the same thing, and its type, "" if nobody knows it."""

  mentions: tuple[Bounds, ...]
  label: str = ""


class Holds(NamedTuple):
  """A relation between two names, by their numbers; as `unknown` any relation if it has none."""

  head: int
  tail: int
  label: str = ""


@dataclasses.dataclass(frozen=True)
class FactsExample:
  """A text, its names and, if known, all relations that hold between them."""

  id: str
  place: str  # file and line
  text: str
  names: tuple[NameOfText, ...]
  facts: tuple[Holds, ...] | None = None
  unknown: tuple[Holds, ...] = ()  # what may hold or not
  sentences: tuple[Bounds, ...] = ()  # none: by the rules of English

  @functools.cached_property
  def edges(self) -> tuple[Bounds, ...]:
    """Returns the sentences of the text."""
    return self.sentences or tuple(sentences_of(self.text, "en"))

  @functools.cached_property
  def places(self) -> list[frozenset[int]]:
    """Returns the numbers of the sentences that mention each name."""
    starts, ends = ([x[side] for x in self.edges] for side in (0, 1))
    return [
      frozenset(
        number
        for start, end in name.mentions
        for number in range(bisect.bisect_right(ends, start), bisect.bisect_left(starts, end))
      )
      for name in self.names
    ]

  def inside(self, fact: Holds) -> bool:
    """Returns whether a sentence mentions both names of a fact."""
    return bool(self.places[fact.head] & self.places[fact.tail])


def key_of(name: str) -> str:
  """Returns the words of a name, whatever their case, signs and a leading "the"."""
  words = " ".join(_NO_NAME.sub(" ", name.casefold()).split())
  return words.removeprefix("the ") or name  # one of signs alone is what it is


def read(path: Path, faults: Faults) -> list[FactsExample]:
  """Reads lines or lists of JSON, ours or DocRED's, or a spreadsheet with a pair in each row."""
  if not is_spreadsheet(path):
    return read_records(path, parse, faults)
  return list(_together(read_records(path, _of_pair, faults, COLUMNS)))


def parse(value: Mapping[str, Any], id: str, place: str) -> FactsExample:
  """Returns the example in an object of JSON lines.

  A name is [start, end, type], and those with the same words and type are one; or it is an object
  with all its `mentions` and its `label`. A fact is [head, tail, label], by numbers of names.
  """
  if OF_DOC_RED[0] in value and OF_DOC_RED[1] in value:
    value = _of_doc_red(value, place)
  check_fields(value, FIELDS, place)
  text = read_text(value, place)
  if "names" not in value:
    raise InputError(f"{place}: no names; expected names, as [[0, 3, 'PER'], [13, 18, 'LOC']]")
  names, numbers = _names(listed(value, "names", place), text)
  facts = None
  if "facts" in value:
    facts = tuple(facts_in(value, "facts", numbers, place, least=3))
  unknown = tuple(facts_in(value, "unknown", numbers, place, least=2)) if "unknown" in value else ()
  edges = listed(value, "sentences", place) if "sentences" in value else []
  sentences = tuple(text.span(x, "sentences") for x in edges)
  return FactsExample(id, place, text.text, names, facts, unknown, sentences)


def to_json(example: FactsExample) -> dict[str, Any]:
  """Returns the object that `parse` reads as the example."""
  names = [{"label": x.label, "mentions": list(map(list, x.mentions))} for x in example.names]
  value: dict[str, Any] = {"id": example.id, "text": example.text, "names": names}
  if example.facts is not None:
    value["facts"] = [list(x) for x in example.facts]
  if example.unknown:
    value["unknown"] = [[x for x in fact if x != ""] for fact in example.unknown]
  if example.sentences:
    value["sentences"] = list(map(list, example.sentences))
  return value


def _names(given: Sequence[Any], text: Text) -> tuple[tuple[NameOfText, ...], list[int]]:
  """Returns names, and the number of that which each one of the file has become."""
  if len(given) > MOST_NAMES:
    raise InputError(f"{text.place}: names: {len(given)}; expected at most {MOST_NAMES}")
  names: list[NameOfText] = []
  by_key: dict[tuple[str, str], int] = {}
  numbers = []
  for value in given:
    name = _name(value, text)
    key = key_of(text.text[slice(*name.mentions[0])]), name.label
    alone = isinstance(value, Mapping)
    number = len(names) if alone else by_key.setdefault(key, len(names))
    if number == len(names):
      names.append(name)
    else:
      names[number] = name._replace(mentions=(*names[number].mentions, *name.mentions))
    numbers.append(number)
  return tuple(names), numbers


def _name(given: Any, text: Text) -> NameOfText:
  if isinstance(given, Mapping):
    mentions, label = given.get("mentions"), given.get("label", "")
  elif isinstance(given, list | tuple) and list(map(type, given[:2])) == [int, int]:
    mentions, label = [list(given[:2])], given[2] if len(given) > 2 else ""
  elif isinstance(given, list | tuple) and list(map(type, given)) == [str, str]:
    mentions, label = [given[0]], given[1]
  else:
    mentions, label = None, ""
  if not isinstance(mentions, list | tuple) or not mentions or not isinstance(label, str):
    expected = "[start, end, type], or mentions and a label"
    raise InputError(f"{text.place}: names: {given!r:.60}; expected {expected}")
  spans = {text.span(x if isinstance(x, str) else list(x), "names", first=True) for x in mentions}
  return NameOfText(tuple(sorted(spans)), label)


def facts_in(
  value: Mapping[str, Any], field: str, numbers: Sequence[int], place: str, *, least: int
) -> Iterator[Holds]:
  """Yields the facts in a field of an object; `numbers` are those of the names that it has."""
  for given in listed(value, field, place):
    parts = list(given) if isinstance(given, list | tuple) else []
    sound = least <= len(parts) <= 3 and list(map(type, parts)) == [int, int, str][: len(parts)]
    sound = sound and all(0 <= x < len(numbers) for x in parts[:2]) and "" not in parts[2:]
    if not sound:
      expected = "[head, tail, label], the first two as numbers of names, from 0"
      raise InputError(f"{place}: {field}: {given!r:.60}; expected {expected}")
    head, tail = (numbers[x] for x in parts[:2])
    if head == tail:
      raise InputError(f"{place}: {field}: {given!r:.60}: one name; expected two")
    yield Holds(head, tail, *parts[2:])


def _of_doc_red(value: Mapping[str, Any], place: str) -> dict[str, Any]:
  """Returns a document of DocRED, whose names have words of sentences, as an object of ours."""
  try:
    words = [word for sentence in value["sents"] for word in sentence]
    first = list(itertools.accumulate(map(len, value["sents"]), initial=0))
    names = [
      {
        "label": mentions[0]["type"],
        "mentions": [[first[x["sent_id"]] + end for end in x["pos"]] for x in mentions],
      }
      for mentions in value["vertexSet"]
    ]
    facts = [[x["h"], x["t"], x["r"]] for x in value["labels"]] if "labels" in value else None
    text, offsets, _ = joined(words, PAPER)
    for name in names:
      name["mentions"] = [[offsets[a][0], offsets[b - 1][1]] for a, b in name["mentions"]]
    edges = [[offsets[a][0], offsets[b - 1][1]] for a, b in itertools.pairwise(first) if a < b]
  except (KeyError, IndexError, TypeError, ValueError, InputError) as fault:
    expected = "sents, vertexSet and labels as DocRED has them"
    raise InputError(f"{place}: {type(fault).__name__} {fault}; expected {expected}") from None
  ours = {"text": text, "names": names, "sentences": edges}
  ours |= {"id": value["id"]} if "id" in value else {}
  return ours if facts is None else ours | {"facts": facts}


def _of_pair(value: Mapping[str, Any], id: str, place: str) -> FactsExample:
  """Returns a row of a spreadsheet: two names, of which nothing but the label is known."""
  text = read_text(value, place)
  one, other = value.get("head"), value.get("tail")
  head, tail = text.span(one, "head", beside=other), text.span(other, "tail", beside=one)
  label = value.get("label")
  names = NameOfText((head,)), NameOfText((tail,))
  facts = None if label is None else ()
  if label and label not in NO_RELATION:
    facts = (Holds(0, 1, str(label)),)
  return FactsExample(id, place, text.text, names, facts, (Holds(1, 0),))


def _together(examples: Sequence[FactsExample]) -> Iterator[FactsExample]:
  """Yields pairs of the same text as one example, in which other pairs are unknown."""
  by_text: dict[str, list[FactsExample]] = {}
  for example in examples:
    by_text.setdefault(example.text, []).append(example)
  for first, *others in by_text.values():
    every = (first, *others)
    names = list(dict.fromkeys(name for x in every for name in x.names))
    told = [(names.index(x.names[0]), names.index(x.names[1])) for x in every]
    facts = {
      Holds(*pair, fact.label)
      for x, pair in zip(every, told, strict=True)
      for fact in x.facts or ()
    }
    pairs = itertools.permutations(range(len(names)), 2)
    unknown = tuple(Holds(*pair) for pair in pairs if pair not in told)
    known = None if all(x.facts is None for x in every) else tuple(sorted(facts))
    yield dataclasses.replace(first, names=tuple(names), facts=known, unknown=unknown)
