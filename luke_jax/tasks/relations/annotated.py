"""Relations between spans that were drawn in Label Studio or doccano, each an example.

Spans that lie near each other and have no relation in either direction are examples of none, in the
order of the text: who draws relations leaves out what is unrelated.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from luke_jax.errors import InputError
from luke_jax.tasks import label_studio
from luke_jax.tasks.files import listed, string

NONE = "no_relation"
NEAR = 300  # characters between two spans
BOTH, LEFT = "bi", "left"  # directions of Label Studio


class Drawn(NamedTuple):
  """A text, its spans by what they are called, and relations between these."""

  text: object
  spans: Mapping[object, Sequence[Any]]
  relations: Sequence[tuple[object, object, str]]


def is_annotated(value: Mapping[str, object]) -> bool:
  """Returns whether an object has spans and relations between them."""
  return label_studio.is_export(value) or {"text", "entities", "relations"} <= value.keys()


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
  for result in label_studio.results_of(value) or ():
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
  return Drawn(label_studio.text_of(value, place), spans, relations)


def _field(value: Any, name: str, place: str, kind: Any = int | str) -> Any:
  if not isinstance(value, dict) or not isinstance(value.get(name), kind):
    what = "a whole number " if kind is int else ""
    raise InputError(f"{place}: {value!r:.60}; expected {what}{name} in it")
  return value[name]
