"""Texts with links to entities of a graph, as people write them: marked, or as lines of JSON."""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from luke_jax.files import Path
from luke_jax.formats.files import Faults, lines, parse_items, read_links, read_text
from luke_jax.formats.records import as_object, records
from luke_jax.text.alignment import AlignedEntity

# [Jim Henson](Q191037)
MARK = re.compile(r"\[([^\[\]]+)\]\(([^()\s]+)\)")
JSON = ".jsonl"


class LinkedText(NamedTuple):
  """A text, and the entities that it names."""

  text: str
  links: tuple[AlignedEntity, ...] = ()


def marked_text(marked: str) -> LinkedText:
  """Returns the text and the links of one whose names are marked: `[Jim Henson](Q191037) was …`."""
  text, links, done = "", [], 0
  for match in MARK.finditer(marked):
    text += marked[done : match.start()]
    links.append(AlignedEntity(match[2], len(text), len(text) + len(match[1])))
    text += match[1]
    done = match.end()
  return LinkedText(text + marked[done:], tuple(links))


def read_linked_texts(path: Path) -> Iterator[LinkedText]:
  """Yields the texts of a file: objects in lines if its name ends in .jsonl, else marked lines.

  An object has `text` or `tokens`, and `links` as in the files of tasks.
  """
  if path.suffix != JSON:
    return (marked_text(line) for _, line in lines(path) if line.strip())
  return parse_items(records(path), str(path), _parsed, Faults(), as_object)


def _parsed(value: Mapping[str, object], id: str, place: str) -> LinkedText:
  text = read_text(value, place)
  return LinkedText(text.text, read_links(value, text, place))
