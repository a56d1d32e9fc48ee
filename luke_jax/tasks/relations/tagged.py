"""Text files of SemEval-2010 Task 8 and KBP37.

An example is a number, a tab and a sentence, mostly in quotes, with its two entities in tags. The
next line is the label. A line that begins with `Comment` and all after it are remarks.

    17  "The <e1>storm</e1> took the <e2>roof</e2> off."
    Cause-Effect(e1,e2)
    Comment:
"""

import itertools
import re
from collections.abc import Iterator, Sequence
from typing import Any

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.tasks.files import lines

_NUMBERED = re.compile(r"\s*\d+\s*\t")
_TAG = re.compile(r"(</?e[12]>)")
_ORDERS = (
  ["<e1>", "</e1>", "<e2>", "</e2>"],
  ["<e2>", "</e2>", "<e1>", "</e1>"],
)


def begins(line: str) -> bool:
  """Returns whether an example begins with the line."""
  return _NUMBERED.match(line) is not None


def blocks(path: Path) -> Iterator[tuple[str, list[str]]]:
  """Yields the non-empty lines of each example, with the place of the first."""
  place, block = "", []
  for number, line in lines(path):
    if begins(line):
      if block:
        yield place, block
      place, block = f"{path}: line {number}", []
    if line.strip():
      block.append(line.strip())
  if block:
    yield place, block


def as_json(block: Sequence[str], place: str) -> dict[str, Any]:
  """Returns an example as an object of JSON lines: `e1` is the head, `e2` the tail."""
  first, *rest = itertools.takewhile(lambda line: not line.startswith("Comment"), block)
  if len(rest) > 1:
    raise InputError(
      f"{place}: then {rest[1]!r} after the label; expected a comment, or a number and a tab"
    )
  number, _, sentence = first.partition("\t")
  value = {"id": number.strip(), **_without_tags(sentence.strip(), place)}
  return value | ({"label": rest[0]} if rest else {})


def _without_tags(sentence: str, place: str) -> dict[str, Any]:
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
