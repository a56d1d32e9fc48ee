"""Examples of relation classification in files, and relations drawn in Label Studio or doccano.

Spans that were drawn near each other and have no relation in either direction are examples of none,
in the order of the text: who draws relations leaves out what is unrelated."""

import dataclasses
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.formats import datasets
from luke_jax.formats.datasets import is_table
from luke_jax.formats.files import (
  Faults,
  check_fields,
  lines,
  listed,
  parse_items,
  read_json,
  read_links,
  read_text,
  string,
)
from luke_jax.formats.records import as_object, is_spreadsheet, numbered, read_records
from luke_jax.text.alignment import AlignedEntity
from luke_jax.text.tokenizer import Bounds

FIELDS = ("head", "tail", "label", "links")
COLUMNS = ("text", "head", "tail", "label")  # of a spreadsheet
DRAWN = '"relations"'  # a field of lines of doccano
NONE = "no_relation"
NEAR = 300  # characters between two spans
BOTH, LEFT = "bi", "left"  # directions of Label Studio


@dataclasses.dataclass(frozen=True)
class RelationExample:
  """Two entities in a text and, if known, their relation."""

  id: str
  place: str  # file and line
  text: str
  head: Bounds
  tail: Bounds
  label: str | None = None
  links: tuple[AlignedEntity, ...] = ()  # entities that the text names


def read(path: Path, faults: Faults) -> list[RelationExample]:
  """Reads JSON lines, ours or KnowPrompt's, lists of TACRED, or text as in SemEval-2010 Task 8.

  Spreadsheets and what was drawn in Label Studio or doccano are read too.

  KBP37 has such text too. Of FewRel its own form is read, and of FewRel and TACRED that in which
  ERNIE's authors published them, with their entities.
  """
  if path.suffix == ".json":
    return list(parse_items(_items(path), str(path), _of_any_form, faults, as_object))
  if is_spreadsheet(path) or is_table(path):
    return read_records(path, _of_any_form, faults, COLUMNS)
  first = next((line for _, line in lines(path) if line.strip()), "")
  if DRAWN in first:
    return list(parse_items(_drawn(path, faults), str(path), _of_any_form, faults, as_object))
  if _NUMBERED.match(first):
    return list(parse_items(_tagged_blocks(path), str(path), _of_any_form, faults, _of_tags))
  return read_records(path, _of_any_form, faults)


def parse(value: Mapping[str, object], id: str, place: str) -> RelationExample:
  """Returns the example in an object of JSON lines."""
  check_fields(value, FIELDS, place)
  text = read_text(value, place)
  one, other = value.get("head"), value.get("tail")
  head, tail = text.span(one, "head", beside=other), text.span(other, "tail", beside=one)
  if max(head[0], tail[0]) < min(head[1], tail[1]):
    one, other = (text.text[slice(*span)] for span in (head, tail))
    raise InputError(f"{place}: head {one!r} overlaps tail {other!r}; expected them apart")
  label = string(value, "label", place) if "label" in value else None
  if label == "":
    raise InputError(f"{place}: label: empty; expected the name of a relation")
  return RelationExample(id, place, text.text, head, tail, label, read_links(value, text, place))


def _of_any_form(value: Mapping[str, object], id: str, place: str) -> RelationExample:
  """Returns an example of any form: TACRED's spans include their last token, others do not."""
  if "ents" in value:
    return parse(_of_ernie(value, place), id, place)
  if "token" not in value:
    return parse(value, id, place)
  if "subj_start" in value:
    head, tail = (_with_last(value, side) for side in ("subj", "obj"))
  else:
    head, tail = (_half_open(value, side) for side in ("h", "t"))
  plain = {"tokens": listed(value, "token", place), "head": head, "tail": tail}
  if "relation" in value:
    plain["label"] = value["relation"]
  return parse(plain, id, place)


def _with_last(value: Mapping[str, object], side: str) -> list[object]:
  end = value.get(f"{side}_end")
  return [value.get(f"{side}_start"), end + 1 if type(end) is int else end]


def _half_open(value: Mapping[str, object], side: str) -> object:
  entity = value.get(side)
  return entity.get("pos") if isinstance(entity, dict) else entity


def _items(path: Path) -> Iterator[tuple[str, object]]:
  items = read_json(path)
  if isinstance(items, dict) and items:
    yield from _few_rel(items, path)
    return
  if not isinstance(items, list):
    raise InputError(f"{path}: a {type(items).__name__}; expected a list of examples")
  for name, item in numbered("example", items):
    if isinstance(item, dict) and is_annotated(item):
      id = str(item.get("id", name.rpartition(" ")[2]))
      yield from ((name, pair) for pair in pairs_of(item, id, f"{path}: {name}"))
    else:
      yield name, item


def _drawn(path: Path, faults: Faults) -> Iterator[tuple[str, object]]:
  """Yields the pairs of spans of each line of doccano."""

  def pairs(value: Mapping[str, object], id: str, place: str) -> list[tuple[str, object]]:
    return [(place.removeprefix(f"{path}: "), pair) for pair in pairs_of(value, id, place)]

  for found in read_records(path, pairs, faults):
    yield from found


_NUMBERED = re.compile(r"\s*\d+\s*\t")  # begins an example with tags
_TAG = re.compile(r"(</?e[12]>)")
_ORDERS = (["<e1>", "</e1>", "<e2>", "</e2>"], ["<e2>", "</e2>", "<e1>", "</e1>"])


def _tagged_blocks(path: Path) -> Iterator[tuple[str, list[str]]]:
  """Yields the non-empty lines of each example of SemEval or KBP37, with the number of the first.

  An example is a number, a tab and a sentence, mostly in quotes, with its two entities in tags. The
  next line is the label. A line that begins with `Comment` and all after it are remarks.

      17  "The <e1>storm</e1> took the <e2>roof</e2> off."
      Cause-Effect(e1,e2)
      Comment:
  """
  place, block = "", []
  for number, line in lines(path):
    if _NUMBERED.match(line):
      if block:
        yield place, block
      place, block = f"line {number}", []
    if line.strip():
      block.append(line.strip())
  if block:
    yield place, block


def _of_tags(block: Sequence[str], place: str) -> dict[str, object]:
  """Returns an example as an object of JSON lines: `e1` is the head, `e2` the tail."""
  first, *rest = itertools.takewhile(lambda line: not line.startswith("Comment"), block)
  if len(rest) > 1:
    raise InputError(
      f"{place}: then {rest[1]!r} after the label; expected a comment, or a number and a tab"
    )
  number, _, sentence = first.partition("\t")
  value = {"id": number.strip(), **_without_tags(sentence.strip(), place)}
  return value | ({"label": rest[0]} if rest else {})


def _without_tags(sentence: str, place: str) -> dict[str, object]:
  quoted = len(sentence) > 1 and sentence[0] == sentence[-1] == '"'
  text = sentence[1:-1] if quoted else sentence
  # KBP37 has spaces inside of the tags, where none belong to the entity.
  text = re.sub(r"(<e[12]>)\s+", r" \1", text)
  text = re.sub(r"\s+(</e[12]>)", r"\1 ", text)
  parts = _TAG.split(" ".join(text.split()))
  tags, pieces = parts[1::2], parts[::2]
  if tags not in _ORDERS:
    raise InputError(
      f"{place}: the tags {' '.join(tags) or 'none'}; expected one <e1>…</e1> and one <e2>…</e2>"
    )
  ends = list(itertools.accumulate(map(len, pieces)))
  spans = {tags[0]: [ends[0], ends[1]], tags[2]: [ends[2], ends[3]]}
  return {"text": "".join(pieces), "head": spans["<e1>"], "tail": spans["<e2>"]}


def _few_rel(
  relations: Mapping[str, object], path: Path
) -> Iterator[tuple[str, dict[str, object]]]:
  """Yields the objects that `parse` reads, with their places, of FewRel's own file.

  A mention is a name, a Qid and the numbers of its tokens:

      {"P931": [{"tokens": ["Merpati", …], "h": ["tjq", "Q1331049", [[16]]], "t": …}, …], …}
  """
  for label, items in relations.items():
    if not isinstance(items, list):
      raise InputError(f"{path}: {label}: a {type(items).__name__}; expected a list of examples")
    for number, item in enumerate(items, start=1):
      name = f"{label}: example {number}"
      place = f"{path}: {name}"
      item = as_object(item, place)
      sides = {name: _mention(item, key, place) for name, key in (("head", "h"), ("tail", "t"))}
      value = {name: span for name, (_, span) in sides.items()}
      links = [[entity, *span] for entity, span in sides.values()]
      tokens = {"tokens": listed(item, "tokens", place)}
      yield name, {"id": f"{label}-{number}", **tokens, **value, "label": label, "links": links}


def _mention(item: Mapping[str, Any], side: str, place: str) -> tuple[str, list[int]]:
  """Returns the Qid and the token span of the first mention of head or tail."""
  try:
    _, entity, ((*_, last), *_) = item[side]
    first = item[side][2][0][0]
    span = [first, last + 1]
  except (KeyError, TypeError, ValueError, IndexError):
    expected = '["name", "Q42", [[3, 4]]]'
    raise InputError(f"{place}: {side}: {item.get(side)!r:.60}; expected {expected}") from None
  return entity, span


def _of_ernie(item: Mapping[str, Any], place: str) -> dict[str, Any]:
  """Returns an example of ERNIE's authors, of FewRel or TACRED, as an object of JSON lines.

  It has a text with the head, the tail and, in TACRED, all links:

      {"text": "…", "label": "P931", "ents": [["Q1331049", 92, 95], …], "ann": […]}
  """
  text = string(item, "text", place)
  pair, more = listed(item, "ents", place), item.get("ann", [])
  if len(pair) != 2 or not all(isinstance(x, list) and len(x) >= 3 for x in [*pair, *more]):
    raise InputError(f"{place}: ents: {pair!r:.60}; expected head and tail as [entity, start, end]")
  head, tail = ([_start(text, x[1]), x[2]] for x in pair)
  links = [[x[0], *span] for x, span in zip(pair, (head, tail), strict=True)] + more
  value = {"text": text, "head": head, "tail": tail, "links": links}
  value |= {name: item[name] for name in ("id", "label") if name in item}
  return value


def _start(text: str, start: object) -> Any:
  """Returns the start of an entity; 1 stands for 0 in FewRel, unless a word begins there."""
  return 0 if start == 1 and text[:1].isalnum() else start


class Drawn(NamedTuple):
  """A text, its spans by what they are called, and relations between these."""

  text: object
  spans: Mapping[object, Sequence[Any]]
  relations: Sequence[tuple[object, object, str]]


def is_annotated(value: Mapping[str, object]) -> bool:
  """Returns whether an object has spans and relations between them."""
  return datasets.is_export(value) or {"text", "entities", "relations"} <= value.keys()


def pairs_of(value: Mapping[str, Any], id: str, place: str) -> Iterator[dict[str, object]]:
  """Yields an object as in JSON lines for each pair of spans."""
  drawn = _of_label_studio(value, place) if "data" in value else _of_doccano(value, place)
  related = {(one, other) for one, other, _ in drawn.relations}
  pairs = list(drawn.relations)
  in_order = sorted(drawn.spans, key=lambda key: tuple(drawn.spans[key]))
  for one, other in itertools.combinations(in_order, 2):
    apart = drawn.spans[other][0] - drawn.spans[one][1]
    if 0 <= apart <= NEAR and not related & {(one, other), (other, one)}:
      pairs.append((one, other, NONE))
  for number, (one, other, label) in enumerate(pairs, start=1):
    if not {one, other} <= drawn.spans.keys():
      raise InputError(f"{place}: a relation of {one!r} and {other!r}; expected two of its spans")
    ends = {"head": list(drawn.spans[one]), "tail": list(drawn.spans[other])}
    yield {"id": f"{id}-{number}", "text": drawn.text, **ends, "label": label}


def _of_doccano(value: Mapping[str, Any], place: str) -> Drawn:
  spans, relations = {}, []
  for entity in listed(value, "entities", place):
    spans[_field(entity, "id", place)] = [
      _field(entity, f"{name}_offset", place, int) for name in ("start", "end")
    ]
  for relation in listed(value, "relations", place):
    ends = (_field(relation, f"{name}_id", place) for name in ("from", "to"))
    relations.append((*ends, string(relation, "type", f"{place}: relation")))
  return Drawn(value["text"], spans, relations)


def _of_label_studio(value: Mapping[str, Any], place: str) -> Drawn:
  spans: dict[object, list[Any]] = {}
  relations: list[tuple[object, object, str]] = []
  for result in datasets.results_of(value) or ():
    if result.get("type") == "relation":
      one, other = (_field(result, name, place) for name in ("from_id", "to_id"))
      labels = result.get("labels") or []
      if len(labels) != 1 or not isinstance(labels[0], str):
        raise InputError(f"{place}: relation: labels {labels!r}; expected one")
      way = result.get("direction")
      relations += [(other, one, labels[0])] if way in (LEFT, BOTH) else []
      relations += [(one, other, labels[0])] if way != LEFT else []
    elif isinstance(span := result.get("value"), dict) and "start" in span:
      ends = [_field(span, name, place, int) for name in ("start", "end")]
      spans[_field(result, "id", place)] = ends
  return Drawn(datasets.text_of(value, place), spans, relations)


def _field(value: Any, name: str, place: str, kind: Any = int | str) -> Any:
  if not isinstance(value, dict) or not isinstance(value.get(name), kind):
    what = "a whole number " if kind is int else ""
    raise InputError(f"{place}: {value!r:.60}; expected {what}{name} in it")
  return value[name]
