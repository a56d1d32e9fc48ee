"""Relations between linked entities: FewRel's own files, and those of ERNIE's authors.

FewRel is an object of lists, in which a mention is a name, a Qid and the numbers of its tokens:

    {"P931": [{"tokens": ["Merpati", …], "h": ["tjq", "Q1331049", [[16]]], "t": …}, …], …}

ERNIE's FewRel and TACRED are lists of texts with the head, the tail and, in TACRED, all links:

    [{"text": "…", "label": "P931", "ents": [["Q1331049", 92, 95], …], "ann": […]}, …]
"""

from collections.abc import Iterator, Mapping
from typing import Any

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.tasks.files import listed, string


def few_rel(relations: Mapping[str, Any], path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
  """Yields the objects that `relations.files.parse` reads, with their places."""
  for label, items in relations.items():
    if not isinstance(items, list):
      raise InputError(f"{path}: {label}: a {type(items).__name__}; expected a list of examples")
    for number, item in enumerate(items, start=1):
      place = f"{path}: {label}: example {number}"
      if not isinstance(item, dict):
        raise InputError(f"{place}: a {type(item).__name__}; expected an object")
      sides = {name: _mention(item, key, place) for name, key in (("head", "h"), ("tail", "t"))}
      value = {name: span for name, (_, span) in sides.items()}
      links = [[entity, *span] for entity, span in sides.values()]
      tokens = {"tokens": listed(item, "tokens", place)}
      yield place, {"id": f"{label}-{number}", **tokens, **value, "label": label, "links": links}


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


def as_json(item: Mapping[str, Any], place: str) -> dict[str, Any]:
  """Returns an example of ERNIE's authors as an object of JSON lines."""
  text = string(item, "text", place)
  pair, more = listed(item, "ents", place), item.get("ann", [])
  if len(pair) != 2 or not all(isinstance(x, list) and len(x) >= 3 for x in [*pair, *more]):
    raise InputError(f"{place}: ents: {pair!r:.60}; expected head and tail as [entity, start, end]")
  head, tail = ([_start(text, x[1]), x[2]] for x in pair)
  links = [[x[0], *span] for x, span in zip(pair, (head, tail), strict=True)] + more
  value = {"text": text, "head": head, "tail": tail, "links": links}
  value |= {name: item[name] for name in ("id", "label") if name in item}
  return value


def _start(text: str, start: Any) -> Any:
  """Returns the start of an entity; 1 stands for 0 in FewRel, unless a word begins there."""
  return 0 if start == 1 and text[:1].isalnum() else start
