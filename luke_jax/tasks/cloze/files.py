"""Cloze questions in files."""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.formats.files import Faults, Text, check_fields, listed, read_json, read_text, string
from luke_jax.formats.records import as_object, read_records
from luke_jax.text.tokenizer import Bounds

FIELDS = ("query", "entities", "answers")
PLACEHOLDER = "@placeholder"


@dataclasses.dataclass(frozen=True)
class ClozeExample:
  """A question with a gap, a passage, its entities and, if known, those that fill the gap."""

  id: str
  place: str  # file and line
  text: str
  query: str
  entities: tuple[Bounds, ...]
  answers: tuple[Bounds, ...] | None = None


def read(path: Path, faults: Faults) -> list[ClozeExample]:
  """Reads JSON lines, or the JSON of ReCoRD."""
  if path.suffix == ".json":
    return list(_record(path, faults))
  return read_records(path, parse, faults)


def parse(value: Mapping[str, object], id: str, place: str) -> ClozeExample:
  """Returns the example in an object of JSON lines."""
  check_fields(value, FIELDS, place)
  text = read_text(value, place)
  query = string(value, "query", place)
  if query.count(PLACEHOLDER) != 1:
    raise InputError(
      f"{place}: query: {PLACEHOLDER} {query.count(PLACEHOLDER)} times; expected it once"
    )
  entities = _spans(value, "entities", text, place)
  if not entities:
    raise InputError(f"{place}: entities: none; expected one at least")
  answers = _spans(value, "answers", text, place) if "answers" in value else None
  for start, end in answers or ():
    if (start, end) not in entities:
      raise InputError(f"{place}: answers: [{start}, {end}]; expected spans that entities has")
  return ClozeExample(id, place, text.text, query, entities, answers)


def _spans(value: Mapping[str, object], name: str, text: Text, place: str) -> tuple[Bounds, ...]:
  spans = [text.span(span, name) for span in listed(value, name, place)]
  for start, end in spans:
    if not text.text[start:end].strip():
      raise InputError(f"{place}: {name}: [{start}, {end}] is white space; expected some text")
  return tuple(dict.fromkeys(spans))


def _record(path: Path, faults: Faults) -> Iterator[ClozeExample]:
  data = read_json(path)
  places: dict[str, str] = {}
  for number, item in enumerate(listed(as_object(data, str(path)), "data", str(path)), start=1):
    place = f"{path}: passage {number}"
    with faults.caught():
      passage = as_object(as_object(item, place).get("passage"), f"{place}: passage")
      for question in listed(item, "qas", place):
        with faults.caught():
          id = string(as_object(question, place), "id", place)
          where = f"{place}, question {id}"
          if id in places:
            raise InputError(f"{where}: id: also in {places[id]}; expected it once")
          places[id] = place
          yield parse(_as_line(passage, question, where), id, where)


def _as_line(passage: Mapping[str, Any], question: Mapping[str, Any], place: str) -> dict[str, Any]:
  """Returns a question of ReCoRD as an object of JSON lines."""
  value = {"text": string(passage, "text", place), "query": question.get("query")}
  value["entities"] = _half_open(passage, "entities", place)
  if "answers" in question:
    value["answers"] = _half_open(question, "answers", place)
    for (start, end), answer in zip(value["answers"], question["answers"], strict=True):
      if answer.get("text", value["text"][start:end]) != value["text"][start:end]:
        raise InputError(
          f"{place}: answers: {answer['text']!r} is not what characters {start} to {end - 1} of the"
          f" passage say; expected {value['text'][start:end]!r}"
        )
  return value


def _half_open(value: Mapping[str, object], name: str, place: str) -> list[list[int]]:
  spans: list[Any] = [as_object(span, f"{place}: {name}") for span in listed(value, name, place)]
  for span in spans:
    if not all(type(span.get(edge)) is int for edge in ("start", "end")):
      raise InputError(f"{place}: {name}: {span!r}; expected a start and an end, whole numbers")
  return [[span["start"], span["end"] + 1] for span in spans]
