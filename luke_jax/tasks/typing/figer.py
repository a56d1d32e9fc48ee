"""FIGER's gold file: a token, a tab and its types on each line, an empty line between sentences.

Greenwood	B-/person,/person/author
said	O
"""

import itertools
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.tasks.files import Faults, lines

Example = TypeVar("Example")


def read(
  path: Path, faults: Faults, parse: Callable[[dict[str, Any], str, str], Example]
) -> Iterator[Example]:
  """Yields an example for each mention: its id counts the mentions of the file."""
  ids = itertools.count(1)
  for place, tokens, tags in _sentences(path):
    for start, end, types in _mentions(tags):
      value = {"tokens": tokens, "span": [start, end], "labels": types}
      with faults.caught():
        yield parse(value, str(next(ids)), place)


def _sentences(path: Path) -> Iterator[tuple[str, list[str], list[str]]]:
  """Yields the place, the tokens and the tags of each sentence."""
  place, tokens, tags = "", [], []
  for number, line in itertools.chain(lines(path), [(0, "")]):
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
