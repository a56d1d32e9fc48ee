"""Texts with links to entities of a graph, as people write them: marked, or as lines of JSON."""

import dataclasses
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.pipeline.instances import NONE
from luke_jax.pipeline.sentence_pairs import Document, Pieces
from luke_jax.tasks.files import Faults, lines, read_json_lines, read_links, read_text
from luke_jax.text import Tokenizer
from luke_jax.text.alignment import AlignedEntity, Alignment, align
from luke_jax.text.sentences import split_sentences

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
  return read_json_lines(path, _parsed, Faults())


def _parsed(value: Mapping[str, object], id: str, place: str) -> LinkedText:
  text = read_text(value, place)
  return LinkedText(text.text, read_links(value, text, place))


@dataclasses.dataclass
class TextDocuments:
  """Linked texts as documents: their sentences as word pieces with numbered entities beside them.

  `links` and `known` count the links, and those to entities with a number.
  """

  texts: Iterable[LinkedText]
  tokenizer: Tokenizer
  numbers: Mapping[str, int]  # of the entities
  how: Alignment = "first"
  language: str = "en"  # whose sentences the texts are split into
  links: int = 0
  known: int = 0

  def __iter__(self) -> Iterator[Document]:
    begins = self.tokenizer.word_starts()
    if begins is None:
      raise InputError("tokenizer: its pieces do not show where words begin; expected one of words")
    for text, links in self.texts:
      with_rows = [link for link in links if link.entity in self.numbers]
      self.links, self.known = self.links + len(links), self.known + len(with_rows)
      yield self._document(text, with_rows, begins)
    if not self.known:
      expected = "some, such as [Jim Henson](Q191037)"
      raise InputError(f"{self.links} links, none to an entity with a vector; expected {expected}")

  def _document(self, text: str, links: Sequence[AlignedEntity], begins: np.ndarray) -> Document:
    sentences = split_sentences(text, self.language)
    starts = itertools.accumulate(map(len, sentences), initial=0)
    pieces = self.tokenizer.encode(sentences, offsets=True)
    document = []
    for start, piece_ids in zip(starts, pieces, strict=False):
      ids = np.array(piece_ids.ids, np.int32)
      spans = [(link.start - start, link.end - start) for link in links]
      slots = align(piece_ids.offsets or (), begins[ids], spans, self.how)
      # A slot without a link is -1, which picks the last number.
      numbers = np.array([*(self.numbers[link.entity] for link in links), NONE], np.int32)
      if len(ids):
        document.append(Pieces(ids, numbers[slots]))
    return document
