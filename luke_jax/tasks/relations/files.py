"""Examples of relation classification in files."""

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.tasks.files import (
  Faults,
  check_fields,
  lines,
  listed,
  read_json,
  read_json_lines,
  read_links,
  read_text,
  string,
)
from luke_jax.tasks.relations import linked, tagged
from luke_jax.text.alignment import Link
from luke_jax.text.special_tokens import Bounds

FIELDS = ("head", "tail", "label", "links")
Item = TypeVar("Item")


@dataclasses.dataclass(frozen=True)
class Example:
  """Two entities in a text and, if known, their relation."""

  id: str
  place: str  # file and line
  text: str
  head: Bounds
  tail: Bounds
  label: str | None = None
  links: tuple[Link, ...] = ()  # entities that the text names


def read(path: Path, faults: Faults) -> list[Example]:
  """Reads JSON lines, ours or KnowPrompt's, lists of TACRED, or text as in SemEval-2010 Task 8.

  KBP37 has such text too. Of FewRel its own form is read, and of FewRel and TACRED that in which
  ERNIE's authors published them, with their entities.
  """
  if path.suffix == ".json":
    return list(_parsed(_items(path), _object, faults))
  first = next((line for _, line in lines(path) if line.strip()), "")
  if tagged.begins(first):
    return list(_parsed(tagged.blocks(path), tagged.as_json, faults))
  return list(read_json_lines(path, _of_any_form, faults))


def parse(value: Mapping[str, Any], id: str, place: str) -> Example:
  """Returns the example in an object of JSON lines."""
  check_fields(value, FIELDS, place)
  text = read_text(value, place)
  head, tail = (text.span(value.get(name), name) for name in ("head", "tail"))
  if max(head[0], tail[0]) < min(head[1], tail[1]):
    one, other = (text.text[slice(*span)] for span in (head, tail))
    raise InputError(f"{place}: head {one!r} overlaps tail {other!r}; expected them apart")
  label = label_in(value, place) if "label" in value else None
  return Example(id, place, text.text, head, tail, label, read_links(value, text, place))


def to_json(example: Example) -> dict[str, Any]:
  """Returns the object that `parse` reads as the example."""
  value: dict[str, Any] = {"id": example.id, "text": example.text}
  value |= {"head": list(example.head), "tail": list(example.tail)}
  if example.links:
    value["links"] = [list(link) for link in example.links]
  return value if example.label is None else value | {"label": example.label}


def label_in(value: Mapping[str, Any], place: str) -> str:
  """Returns the label of an object."""
  label = string(value, "label", place)
  if not label:
    raise InputError(f"{place}: label: empty; expected the name of a relation")
  return label


def _of_any_form(value: Mapping[str, Any], id: str, place: str) -> Example:
  """Returns an example of any form: TACRED's spans include their last token, others do not."""
  if "ents" in value:
    return parse(linked.as_json(value, place), id, place)
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


def _with_last(value: Mapping[str, Any], side: str) -> list[Any]:
  end = value.get(f"{side}_end")
  return [value.get(f"{side}_start"), end + 1 if type(end) is int else end]


def _half_open(value: Mapping[str, Any], side: str) -> Any:
  entity = value.get(side)
  return entity.get("pos") if isinstance(entity, dict) else entity


def _parsed(
  items: Iterable[tuple[str, Item]], as_json: Callable[[Item, str], Any], faults: Faults
) -> Iterator[Example]:
  """Yields examples of the items of a file, each with its place."""
  ids: dict[str, str] = {}
  for number, (place, item) in enumerate(items, start=1):
    with faults.caught():
      value = as_json(item, place)
      id = value.get("id", str(number))
      if not isinstance(id, str):
        raise InputError(f"{place}: id: {id!r}; expected a string")
      if ids.setdefault(id, place) != place:
        raise InputError(f"{place}: id {id!r}: also that of {ids[id]}; expected it once")
      yield _of_any_form(value, id, place)


def _items(path: Path) -> Iterator[tuple[str, Any]]:
  items = read_json(path)
  if isinstance(items, dict) and items:
    yield from linked.few_rel(items, path)
    return
  if not isinstance(items, list):
    raise InputError(f"{path}: a {type(items).__name__}; expected a list of examples")
  for number, item in enumerate(items, start=1):
    yield f"{path}: example {number}", item


def _object(item: Any, place: str) -> Mapping[str, Any]:
  if not isinstance(item, dict):
    raise InputError(f"{place}: a {type(item).__name__}; expected an object")
  return item
