"""Examples of entity linking in files: texts, and the names in them with what they mean."""

import dataclasses
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.formats.files import Faults, Text, check_fields, listed, read_text, string
from luke_jax.formats.records import read_records
from luke_jax.text.tokenizer import Bounds

FIELDS = ("mentions", "annotated")
OPTIONAL_TYPES = ("DATETIME", "QUANTITY")  # of ELEVANT's labels, which need not be linked
OWN_COLUMNS = ("name", "description", "aliases", "weight")  # of entities of one's own
LEAST_WEIGHT = 1e-12
DEEPEST = 10  # names that lie in each other
_ITEM = re.compile(r"Q\d+")
Candidates = tuple[tuple[str, float], ...]  # titles, and how often the name means them


class LinkedMention(NamedTuple):
  """A name in a text and what it means: a title, "" for no known entity, None if not known.

  One that is `optional` counts neither as found nor as missed, as a date that a linker may link.
  `candidates` are titles that it may mean, with their shares, in the place of those that are known.
  `parts` are names that lie in it: a linker may find these instead.
  """

  start: int
  end: int
  title: str | None = None
  item: str | None = None  # of Wikidata
  optional: bool = False
  candidates: Candidates | None = None
  parts: tuple["LinkedMention", ...] = ()


@dataclasses.dataclass(frozen=True)
class LinkingExample:
  """A text; without mentions they have to be found.

  Where people marked the names of a part of it only, as in Wiki-Fair, `annotated` is that part.
  """

  id: str
  place: str  # file and line
  text: str
  mentions: tuple[LinkedMention, ...] | None = None
  annotated: Bounds | None = None


def read(path: Path, faults: Faults) -> list[LinkingExample]:
  """Reads JSON lines, of ours or of a benchmark."""
  if path.suffix in (".csv", ".conllu"):
    tool = "python -m data.linking.make, in a checkout, makes them of published benchmarks"
    raise InputError(f"{path}: expected JSON lines; {tool}")
  return read_records(path, parse, faults)


def parse(value: Mapping[str, Any], id: str, place: str) -> LinkingExample:
  """Returns the example in an object of JSON lines."""
  value = _as_ours(value, place)
  check_fields(value, FIELDS, place)
  text = read_text(value, place)
  if "mentions" not in value:
    return LinkingExample(id, place, text.text)
  mentions = [_mention(x, text, place) for x in listed(value, "mentions", place)]
  annotated = value.get("annotated")
  part = None if annotated is None else text.span(annotated, "annotated")
  return LinkingExample(id, place, text.text, tuple(sorted(mentions, key=lambda x: x[:2])), part)


def _as_ours(value: Mapping[str, Any], place: str) -> Mapping[str, Any]:
  """Returns an object of ELEVANT's benchmarks, Tweeki or the Reddit set with our names."""
  if "labels" in value and "evaluation_span" in value:
    return _of_elevant(value, place)
  if "sentence" in value and "link" in value:
    titles = [str(link).rpartition("|")[::2] for link in listed(value, "link", place)]
    return {"text": value["sentence"], "mentions": _paired(value, titles, place)}
  if "wikipedia_titles" in value:
    titles = [(title,) for title in listed(value, "wikipedia_titles", place)]
    return {"text": value.get("text"), "mentions": _paired(value, titles, place)}
  return value


def _of_elevant(value: Mapping[str, Any], place: str) -> dict[str, Any]:
  """Returns an article of ELEVANT with our names; entities have names that often are titles.

  Labels that lie in another are its parts. Dates and quantities are optional and no entity.
  """
  labels: dict[object, tuple[list[Any], object]] = {}
  for label in listed(value, "labels", place):
    try:
      (start, end), item, name = label["span"], label["entity_id"], label["name"]
      id, parent = label.get("id", len(labels)), label.get("parent")
      dated = not {*str(label.get("type")).split("|")}.isdisjoint(OPTIONAL_TYPES)
      if id in labels:
        raise ValueError
    except (AttributeError, KeyError, TypeError, ValueError):
      expected = "expected a label with span, entity_id, name and an id of its own"
      raise InputError(f"{place}: labels: {label!r:.60}; {expected}") from None
    known = bool(_ITEM.fullmatch(str(item))) and not dated
    meaning = (name, item) if known else (None, None)
    if known or dated or not label.get("optional"):  # else whatever is answered there is wrong
      optional = bool(label.get("optional")) or dated
      labels[id] = [start, end, *meaning, optional, None, []], parent
  roots = [x for x, parent in labels.values() if parent is None]
  for mention, parent in labels.values():
    if parent is not None:
      outer = labels[parent][0] if parent in labels else None
      if outer is None or _depth(parent, labels) > DEEPEST:
        expected = f"expected the id of another label, at most {DEEPEST} in each other"
        raise InputError(f"{place}: labels: parent {parent!r:.60}; {expected}")
      outer[-1].append(mention)
  return {"text": value.get("text"), "mentions": roots, "annotated": value["evaluation_span"]}


def _depth(id: object, labels: Mapping[object, tuple[list[Any], object]]) -> int:
  """Returns how many labels lie around each other up to the one of an id, as far as they may."""
  depth = 0
  while id in labels and depth <= DEEPEST:
    id, depth = labels[id][1], depth + 1
  return depth


def _paired(
  value: Mapping[str, Any], titles: Sequence[Sequence[str]], place: str
) -> list[list[object]]:
  spans = listed(value, "index", place)
  if not all(isinstance(span, list) and len(span) == 2 for span in spans):
    raise InputError(f"{place}: index: {spans!r:.60}; expected a list of [start, end]")
  if len(spans) != len(titles):
    raise InputError(
      f"{place}: index: {len(spans)} spans of {len(titles)} titles; expected as many"
    )
  return [[*span, *title] for span, title in zip(spans, titles, strict=True)]


_USUAL: tuple[Any, ...] = (None, None, False, None, ())  # behind the span of a mention


def _mention(value: object, text: Text, place: str, depth: int = 0) -> LinkedMention:
  """Returns the mention in a list of JSON, or of words; raises InputError for what is none."""
  if isinstance(value, str):
    return LinkedMention(*text.span(value, "mentions"))
  if not isinstance(value, list | tuple) or not _is_mention(value) or depth > DEEPEST:
    expected = "expected [start, end] or [start, end, title, item], null for no known entity"
    raise InputError(f"{place}: mentions: {value!r:.200}; {expected}")
  title, item, optional, given, parts = (*value[2:], *_USUAL[len(value) - 2 :])
  start, end = text.span(list(value[:2]), "mentions")
  candidates = None if given is None else tuple((x, float(y)) for x, y in given)
  inner = tuple(_mention(x, text, place, depth + 1) for x in parts)
  meaning = (title or "") if len(value) > 2 else None
  return LinkedMention(start, end, meaning, item, optional, candidates, inner)


def _is_mention(value: Sequence[Any]) -> bool:
  if not 2 <= len(value) <= 2 + len(_USUAL):
    return False
  title, item, optional, given, parts = (*value[2:], *_USUAL[len(value) - 2 :])
  if not all(isinstance(x, str | None) for x in (title, item)) or type(optional) is not bool:
    return False
  if not isinstance(given, list | tuple | None) or not isinstance(parts, list | tuple):
    return False
  return all(map(_is_candidate, given or ()))


def _is_candidate(value: object) -> bool:
  if not isinstance(value, list | tuple) or len(value) != 2 or not isinstance(value[0], str):
    return False
  return isinstance(value[1], int | float) and 0 <= value[1] <= 1


def to_json(example: LinkingExample) -> dict[str, Any]:
  """Returns the object that `parse` reads as the example."""
  value: dict[str, Any] = {"id": example.id, "text": example.text}
  if example.mentions is not None:
    value["mentions"] = [_shortened(mention) for mention in example.mentions]
  if example.annotated is not None:
    value["annotated"] = list(example.annotated)
  return value


def _shortened(mention: LinkedMention) -> list[object]:
  """Returns a mention as JSON has it, without what is as usual at its end."""
  if mention.title is None:
    return [mention.start, mention.end]
  start, end, title, *rest, parts = mention
  value: list[object] = [start, end, title or None, *rest, [_shortened(x) for x in parts]]
  usual = [None, False, None, []]  # behind the title
  while len(value) > 3 and value[-1] == usual[len(value) - 4]:
    value.pop()
  return value


@dataclasses.dataclass(frozen=True)
class OwnEntity:
  """An entity of the user's own: a line of JSON."""

  name: str
  description: str = ""
  aliases: tuple[str, ...] = ()
  id: str | None = None
  sentences: tuple[str, ...] = ()  # that say something of it
  weight: float = 1.0  # how often it is meant, beside others of its name


def read_own(file: Path) -> list[OwnEntity]:
  """Reads the user's entities: lines of JSON, or rows of a spreadsheet."""
  own = read_records(file, _own, Faults(), OWN_COLUMNS)
  if not own:
    raise InputError(f"{file}: no entities; expected one on each line")
  keys = [" ".join((x.id or x.name).split()) for x in own]
  if twice := next((key for key, count in Counter(keys).items() if count > 1), None):
    raise InputError(f"{file}: {twice!r}: twice; expected each id, or name without an id, once")
  return own


def _own(value: Any, id: str, place: str) -> OwnEntity:
  check_fields(value, (*OWN_COLUMNS, "sentences"), place)
  name = " ".join(string(value, "name", place).split())
  if not name:
    raise InputError(f"{place}: name: empty; expected the entity's name")
  description = string(value, "description", place) if "description" in value else ""
  aliases, sentences = (_strings(value, field, place) for field in ("aliases", "sentences"))
  aliases = tuple(" ".join(x.split()) for x in aliases)
  weight = _weight(value.get("weight", 1.0), place)
  return OwnEntity(name, description, aliases, id if "id" in value else None, sentences, weight)


def _weight(given: Any, place: str) -> float:
  try:
    weight = float(given or 1) if isinstance(given, str) else given
  except ValueError:
    weight = given
  if type(weight) not in (int, float) or not LEAST_WEIGHT <= weight <= 1 / LEAST_WEIGHT:
    expected = f"expected a number from {LEAST_WEIGHT:g} to {1 / LEAST_WEIGHT:g}"
    raise InputError(f"{place}: weight: {given!r:.60}; {expected}")
  return float(weight)


def _strings(value: Any, field: str, place: str) -> tuple[str, ...]:
  found = listed(value, field, place) if field in value else ()
  if not all(isinstance(x, str) and x.strip() for x in found):
    raise InputError(f"{place}: {field}: {found!r:.60}; expected a list of texts")
  return tuple(found)
