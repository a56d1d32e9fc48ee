"""Pages of a build as documents: their sentences as word pieces, with the entities of the links."""

import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from luke_jax.errors import InputError
from luke_jax.files import Path, read_json
from luke_jax.pipeline.sentence_pairs import Document, Pieces, first_pieces
from luke_jax.text import Tokenizer
from luke_jax.wiki.read.wikidata import KINDS, check_name, read_items
from luke_jax.wiki.stages.linked_sentences import Sentence, split_paragraph
from luke_jax.wiki.stages.page_stage import shards_of
from luke_jax.wiki.stages.segment_encoder import WIDTH, SegmentEncoder
from luke_jax.wiki.stages.stage import MANIFEST, check_made_of, read_finished
from luke_jax.wiki.stages.title_stage import NOWHERE, Titles


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
    self,
    sentences: list[Sentence],
    encoder: SegmentEncoder,
    titles: Titles,
    entities: np.ndarray,
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


def read_names(path: Path, site: str) -> Iterable[tuple[str, str]]:
  """Yields titles with the names of their entities: lines of `title<TAB>Q42`, or Wikidata's dump.

  `site` is the wiki whose titles a dump is asked for, such as enwiki.
  """
  if path.name.endswith(KINDS):
    check_name(path)
    with path.open("rb") as file:
      for item in read_items(file, path):
        if title := item.sitelinks.get(site):
          yield title, item.id
    return
  try:
    with path.open(encoding="utf-8") as lines:
      for number, line in enumerate(lines, start=1):
        title, tab, name = line.rstrip("\n").rpartition("\t")
        if not tab or not title or not name.strip():
          raise InputError(f"{path}: line {number}: {line!r:.60}; expected a title, a tab, a Qid")
        yield title, name.strip()
  except (OSError, UnicodeDecodeError) as fault:
    raise InputError(f"{path}: {fault}; expected titles with their Qids") from None
