"""Pages of a build, and texts with links, as documents: word pieces with their entities beside."""

import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from data.ernie_thu.sentence_pairs import Document, Pieces, first_pieces
from luke_jax.errors import InputError
from luke_jax.files import Path, read_json
from luke_jax.pipeline.stored import NONE
from luke_jax.systems.ernie_thu.aligning import LinkedText
from luke_jax.text import Tokenizer
from luke_jax.text.alignment import AlignedEntity, Alignment, align
from luke_jax.text.sentences import split_sentences
from luke_jax.wiki.read.wikidata import read_names
from luke_jax.wiki.stages.linked_sentences import Sentence, split_paragraph
from luke_jax.wiki.stages.packing import WIDTH, SegmentEncoder
from luke_jax.wiki.stages.page_stage import NOWHERE, Titles, shards_of
from luke_jax.wiki.stages.stage import MANIFEST, check_made_of, read_finished


@dataclasses.dataclass
class LinkedDocuments:
  """Documents of a build's pages, whose links lead to numbered entities.

  `links` and `known` count the links, and those to entities with a number.
  """

  folder: Path
  tokenizer: Tokenizer
  items: Path  # titles of pages and their names in the graph
  numbers: Mapping[str, int]  # of the names
  how: str = "first"  # pieces of a mention that its entity is beside
  links: int = 0
  known: int = 0

  def __iter__(self) -> Iterator[Document]:
    pages = shards_of(self.folder / "pages", read_finished(self.folder / "pages"))
    check_made_of(self.folder / "titles", "pages")
    site = read_json(self.folder / "pages" / MANIFEST)["made_of"]["site"]
    titles = Titles(self.folder / "titles")
    entities = self._entities(titles, site["database"])
    encoder = SegmentEncoder(self.tokenizer)
    for shard in range(len(pages)):
      for page in pages.read_pages(shard):
        split = (split_paragraph(paragraph, site["language"]) for paragraph in page.paragraphs)
        sentences = [sentence for paragraph in split for sentence in paragraph.sentences]
        yield self._document(sentences, encoder, titles, entities)

  def _entities(self, titles: Titles, site: str) -> np.ndarray:
    """Returns the number of the entity of each title, -1 for none."""
    entities = np.full(len(titles), NOWHERE, np.int32)
    for title, name in read_names(self.items, site):
      page = titles.page(title.replace("_", " "))
      if page != NOWHERE:
        entities[page] = self.numbers.get(name, NOWHERE)
    if not (entities != NOWHERE).any():
      raise InputError(f"{self.items}: no page of {self.folder} has a vector; expected some")
    return entities

  def _document(
    self, sentences: list[Sentence], encoder: SegmentEncoder, titles: Titles, entities: np.ndarray
  ) -> Document:
    rows = iter(encoder.encode([segment for x in sentences for segment in x.segments]))
    document = []
    for segments, targets, _ in sentences:
      of_document = list(itertools.islice(rows, len(segments)))
      ids = np.frombuffer(b"".join(of_document), "<i4")
      ends = np.cumsum([len(part) // WIDTH for part in of_document])
      beside = np.full(len(ids), NOWHERE, np.int32)
      for target, start, end in zip(targets, ends[::2], ends[1::2], strict=False):
        page = titles.page(target)
        number = entities[page] if page != NOWHERE else NOWHERE
        self.links, self.known = self.links + 1, self.known + int(number != NOWHERE)
        beside[start:end] = first_pieces(np.full(end - start, number, np.int32), self.how)
      if len(ids):
        document.append(Pieces(ids, beside))
    return document


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
