"""Examples of entity typing in files."""

import dataclasses
import itertools
from collections.abc import Iterator, Mapping

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.formats import files
from luke_jax.formats.records import read_records
from luke_jax.text.alignment import AlignedEntity
from luke_jax.text.tokenizer import Bounds

FIELDS = ("span", "labels", "links")
COLUMNS = ("text", "span", "labels")  # of a spreadsheet
OPEN_ENTITY = {"sent", "start", "end", "labels"}
# Open Entity writes brackets as the Penn Treebank does; the paper's code reads them as brackets.
BRACKETS = {"-LRB-": "(", "-LSB-": "(", "-LCB-": "(", "-RRB-": ")", "-RSB-": ")", "-RCB-": ")"}


@dataclasses.dataclass(frozen=True)
class TypingExample:
  """An entity in a text and, if known, its types."""

  id: str
  place: str  # file and line
  text: str
  span: Bounds
  labels: tuple[str, ...] | None = None
  links: tuple[AlignedEntity, ...] = ()  # entities that the text names


def read(path: Path, faults: files.Faults) -> list[TypingExample]:
  """Reads JSON lines, Open Entity and FIGER as the authors of ERNIE published them, or FIGER's own.

  Spreadsheets are read too.
  The latter has a token, a tab and `B-/type,/type`, `I-…` or `O` on each line.
  """
  if path.suffix == ".json":
    return list(_open_entity(path, faults))
  if path.suffix == ".label":
    return list(_figer(path, faults))
  return read_records(path, parse, faults, COLUMNS)


def parse(value: Mapping[str, object], id: str, place: str) -> TypingExample:
  """Returns the example in an object of JSON lines."""
  files.check_fields(value, FIELDS, place)
  text = files.read_text(value, place)
  span = text.span(value.get("span"), "span")
  labels = labels_in(value, place) if "labels" in value else None
  return TypingExample(id, place, text.text, span, labels, files.read_links(value, text, place))


def labels_in(value: Mapping[str, object], place: str) -> tuple[str, ...]:
  """Returns the labels of an object, each once."""
  labels = files.listed(value, "labels", place)
  if not all(isinstance(label, str) and label for label in labels):
    raise InputError(f"{place}: labels: {labels!r}; expected strings that are not empty")
  return tuple(dict.fromkeys(labels))


def _open_entity(path: Path, faults: files.Faults) -> Iterator[TypingExample]:
  items = files.read_json(path)
  if not isinstance(items, list):
    raise InputError(f"{path}: a {type(items).__name__}; expected a list of examples")
  for number, item in enumerate(items, start=1):
    place = f"{path}: example {number}"
    with faults.caught():
      if not isinstance(item, dict) or not item.keys() >= OPEN_ENTITY:
        raise InputError(f"{place}: expected an object with {', '.join(sorted(OPEN_ENTITY))}")
      sentence = files.string(item, "sent", place)
      value = {"text": sentence, "span": [item["start"], item["end"]], "labels": item["labels"]}
      value["links"] = item.get("ents", [])  # in ERNIE's own copy
      yield _without_codes(parse(value, str(number), place))


def _without_codes(example: TypingExample) -> TypingExample:
  """Returns the example with brackets in the place of their codes."""
  text = example.text
  if not any(code in text for code in BRACKETS):
    return example

  def moved(start: int, end: int) -> Bounds:
    before = len(_brackets(text[:start]))
    return before, before + len(_brackets(text[start:end]))

  links = tuple(AlignedEntity(x.entity, *moved(x.start, x.end), x.score) for x in example.links)
  span = moved(*example.span)
  return dataclasses.replace(example, text=_brackets(text), span=span, links=links)


def _brackets(text: str) -> str:
  for code, bracket in BRACKETS.items():
    text = text.replace(code, bracket)
  return text


def _figer(path: Path, faults: files.Faults) -> Iterator[TypingExample]:
  """Yields an example for each mention of FIGER's gold file: its id counts the mentions.

  Each line has a token, a tab and the types of a mention that begins there, or O:

      Greenwood	B-/person,/person/author
      said	O
  """
  ids = itertools.count(1)
  for place, tokens, tags in _sentences(path):
    for start, end, types in _mentions(tags):
      value = {"tokens": tokens, "span": [start, end], "labels": types}
      with faults.caught():
        yield parse(value, str(next(ids)), place)


def _sentences(path: Path) -> Iterator[tuple[str, list[str], list[str]]]:
  """Yields the place, the tokens and the tags of each sentence."""
  place, tokens, tags = "", [], []
  for number, line in itertools.chain(files.lines(path), [(0, "")]):
    if not line.strip():
      if tokens:
        yield place, tokens, tags
      tokens, tags = [], []
      continue
    token, tab, tag = line.rstrip().partition("\t")
    if not tab or not token or not (tag == "O" or tag[:2] in ("B-", "I-")):
      expected = "a token, a tab and O, B-types or I-types"
      raise InputError(f"{path}: line {number}: {line!r:.60}; expected {expected}")
    place = place if tokens else f"{path}: line {number}"
    tokens.append(token)
    tags.append(tag)


def _mentions(tags: list[str]) -> Iterator[tuple[int, int, list[str]]]:
  """Yields start, end and types of each mention."""
  for start, tag in enumerate(tags):
    if tag.startswith("B-"):
      inside = itertools.takewhile(lambda other: other.startswith("I-"), tags[start + 1 :])
      yield start, start + 1 + len(list(inside)), tag[2:].split(",")
