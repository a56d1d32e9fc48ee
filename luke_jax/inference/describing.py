"""Knowledge for a linker out of a wiki's tables: vectors of entities, their names, and examples."""

import contextlib
import dataclasses
import functools
import itertools
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from rich.progress import track

from luke_jax.convert.parts import ModelParts
from luke_jax.convert.reading import read_model
from luke_jax.convert.tensors import weights_hash
from luke_jax.errors import InputError
from luke_jax.files import Path, whole
from luke_jax.files.copies import local
from luke_jax.files.locks import locked
from luke_jax.inference.text_vectors import encode
from luke_jax.tasks.linking.files import OwnEntity
from luke_jax.tasks.linking.knowledge import (
  MODEL,
  About,
  Knowledge,
  check_free,
  lines_of,
  write_knowledge,
)
from luke_jax.tasks.linking.names import NONE, Meanings, NameSums, NameTable, key_of, names_in
from luke_jax.terminal import Console
from luke_jax.text.tokenizer import Bounds
from luke_jax.wiki.export.read import read_pages, read_sentences
from luke_jax.wiki.export.tables import ExportedLink, ExportedPage, ExportedSentence, table_files
from luke_jax.wiki.read.markup import LINK
from luke_jax.wiki.read.own_names import base_title
from luke_jax.wiki.stages.progress import StageProgress
from luke_jax.wiki.stages.stage import Engine, Stage, discard
from luke_jax.wiki.stages.stored import save_array

HELD_OUT = 20  # one page in so many, by its title, is dev: no link of it counts for a name
SCORED = 2500  # dev pages, about, that have examples
FROM_TITLE = 0.5  # of a link: how much a name counts that is a title, a redirect or a name in bold
FROM_WIKIDATA = 0.25  # of a link: how much a label or an alias counts
OWN = ("own-title", "own-short")  # sources of names on the page that they mean
OF_A_PAGE = 2  # paragraphs of each page among the examples
COUNTED = 10000  # pages on which occurrences of names are counted
AT_ONCE = 1024  # texts of one's own entities
ALIKE_VECTORS = 0.99  # product of an entity's vectors, both by the same model


def describe(
  tables: Path, model: Path, output: Path, engine: Engine, *, examples: int
) -> dict[str, int]:
  """Writes knowledge of a wiki's pages, and examples to train on and to score by.

  `model` is a directory. `examples` is about how many paragraphs there are to train on. A command
  that was ended goes on with the vectors that it has. Returns counts.
  """
  check_free(output)  # before the minutes that describing takes
  _read_model(model)
  if not any(_entities(tables)):
    raise InputError(f"{tables}: no pages; expected tables that luke-jax wiki export made")
  with locked(output), StageProgress() as progress:
    work = DescribedShard(output.resolve() / "vectors", tables.resolve(), model.resolve())
    files = table_files(tables, "pages")
    sizes = {file.name: file.stat().st_size for file in files}
    made_of = {"pages": sizes, "model": weights_hash(model)}
    progress.finish(Stage(work.folder, len(files), work, made_of), engine)
    with progress.step("names"):
      wiki = _Wiki(tables)
      meanings = wiki.meanings()
    with progress.step("examples"):
      shares = Shares(examples / OF_A_PAGE, SCORED * HELD_OUT, COUNTED)
      shares = Shares(*(x / len(wiki.lines) for x in shares))
      reading = _Reading(NameTable.of(meanings), wiki.ids, shares)
      counts = reading.write_examples(tables, output)
    with progress.step("files"):  # last: a folder with knowledge is whole
      meanings = meanings._replace(linked=reading.linked(meanings.keys))
      vectors = map(work.vectors, range(len(files)))
      facts = {"tables": tables.name, MODEL: made_of["model"]}
      write_knowledge(output, wiki.lines, vectors, meanings, facts)
    discard(work.folder)
  return {"entities": len(wiki.lines), "names": len(reading.names.keys), **counts}


def _entities(tables: Path, shard: int | None = None) -> Iterator[ExportedPage]:
  """Yields the pages that are entities, without their text."""
  return (page for page in read_pages(tables, text=False, shard=shard) if not page.disambiguation)


@dataclasses.dataclass(frozen=True)
class DescribedShard:
  """The function of a shard: writes a vector of each page's description, as knowledge has them."""

  folder: Path
  tables: Path
  model: Path

  def __call__(self, shard: int) -> Mapping[str, int]:
    """Writes the vectors, and returns their number."""
    texts = [_told(_about(page)) for page in _entities(self.tables, shard)]
    save_array(self._file(shard), encode(_read_model(self.model), texts).astype(np.float16))
    return {"vectors": len(texts)}

  def vectors(self, shard: int) -> np.ndarray:
    """Returns the vectors of a shard that is made."""
    return np.load(local(self._file(shard)), allow_pickle=False)

  def _file(self, shard: int) -> Path:
    return self.folder / f"{shard:05}.npy"


@functools.lru_cache(maxsize=1)  # a process describes several shards
def _read_model(directory: Path) -> ModelParts:
  return read_model(directory)


def _about(page: ExportedPage) -> About:
  return About(
    page.title, page.description or page.first_sentence or page.type_phrase or "", page.item
  )


def write_own(
  model: ModelParts, added: Sequence[OwnEntity], output: Path, described_by: str
) -> dict[str, int]:
  """Writes knowledge of the user's entities alone, described by the model with that hash."""
  check_free(output)
  meanings = _meanings(added, 0)
  facts = {MODEL: described_by, "own": len(added)}
  write_knowledge(
    output, lines_of(map(_about_own, added)), (own_vectors(model, added),), meanings, facts
  )
  return {"entities": len(added), "names": len(np.unique(meanings.keys))}


def add_own(
  knowledge: Knowledge, model: ModelParts, added: Sequence[OwnEntity], output: Path
) -> dict[str, int]:
  """Writes knowledge with more entities; what it had stays the same to the bit."""
  check_free(output)
  for entity in added:
    if entity.id and knowledge.id_of(entity.id) != NONE:
      raise InputError(f"{entity.id!r}: an entity of {knowledge.folder}; expected another id")
    if not entity.id and knowledge.id_of(entity.name) != NONE:
      expected = "expected another name, or an id that tells them apart"
      raise InputError(f"{entity.name!r}: an entity of {knowledge.folder}; {expected}")
  _check_same(knowledge, encode(model, [_told(knowledge.about(0))])[0])
  vectors = own_vectors(model, added)
  lines = knowledge.lines + lines_of(map(_about_own, added))
  tables = {"tables": knowledge.facts["tables"]} if "tables" in knowledge.facts else {}
  facts = {**tables, MODEL: knowledge.described_by, "own": len(added)}
  meanings = knowledge.meanings + _meanings(added, len(knowledge))
  write_knowledge(output, lines, (knowledge.all_vectors, vectors), meanings, facts)
  return {"entities": len(lines), "own": len(added)}


def _about_own(entity: OwnEntity) -> About:
  return About(entity.name, entity.description, entity.id)


def _meanings(added: Sequence[OwnEntity], first: int) -> Meanings:
  """Returns the names of the user's entities, which are numbered from `first` on."""
  names: dict[str, dict[int, float]] = {}
  for id, entity in enumerate(added, start=first):
    for name in {entity.name, *entity.aliases}:
      names.setdefault(name, {})[id] = entity.weight
  return Meanings.of(names)


def own_vectors(model: ModelParts, added: Sequence[OwnEntity]) -> np.ndarray:
  """Returns a vector of each entity: that of its description, or its mean with the sentences'."""
  texts, of = [], []
  for number, entity in enumerate(added):
    described = [_told(About(entity.name, entity.description))]
    told = [*(described if entity.description or not entity.sentences else ()), *entity.sentences]
    texts += told
    of += [number] * len(told)
  total = np.zeros((len(added), model.config.hidden_size), np.float32)
  parts = [slice(x, x + AT_ONCE) for x in range(0, len(texts), AT_ONCE)]
  for part in track(parts, "describing", console=Console(stderr=True), disable=len(parts) < 2):
    np.add.at(total, of[part], encode(model, texts[part]))
  return total / np.maximum(np.linalg.norm(total, axis=-1, keepdims=True), 1e-9)


def _told(entity: About) -> str:
  """Returns the text by which an entity is described."""
  return f"{entity.title}: {entity.description}"


def _check_same(knowledge: Knowledge, first: np.ndarray) -> None:
  """Raises InputError for a model that describes the first entity otherwise than it is known."""
  stored = knowledge.vectors(np.zeros(1, np.int32))[0]
  if stored.shape != first.shape or stored @ first < ALIKE_VECTORS:
    expected = f"expected the one that described the entities of {knowledge.folder}"
    raise InputError(f"--model: another model; {expected}")


def is_dev(title: str) -> bool:
  """Returns whether a page is held out."""
  return _place(f"page {title}") < 1 / HELD_OUT


class _Wiki:
  """A wiki's pages as entities, and what each name means: by links, and by what pages are called.

  No link of a held-out page counts. A page's own names count once, however often its text has them.
  """

  def __init__(self, tables: Path):
    self._tables = tables
    self.ids: dict[str, int] = {}  # by title
    self._own, self._of_items, self._linked = NameSums(), NameSums(), NameSums()
    self.lines = lines_of(itertools.starmap(self._described, enumerate(_entities(tables))))

  def _described(self, id: int, page: ExportedPage) -> About:
    self.ids.setdefault(page.title, id)  # of two pages of one title the first
    for name in (page.title, base_title(page.title), *page.redirects, *page.names):
      self._own.add(name, id)
    for name in page.aliases:
      self._of_items.add(name, id)
    return _about(page)

  def meanings(self) -> Meanings:
    """Returns the names with their weights, and the first links by which each means an entity."""
    for sentence in read_sentences(self._tables, linked=True):
      page, held_out = self.ids.get(sentence.title), is_dev(sentence.title)
      for link in sentence.links:
        id = self.ids.get(link.target)
        if id is None:
          continue
        if link.source in OWN:
          self._own.add(link.text, id)
        elif not held_out:
          place = () if page is None else ((page, sentence.sentence, link.start),)
          self._linked.add(link.text, id, *place)
    of_pages, of_items = self._own.summed(), self._of_items.summed()
    of_pages = of_pages._replace(weights=np.full(len(of_pages.keys), FROM_TITLE))
    of_items = of_items._replace(weights=np.full(len(of_items.keys), FROM_WIKIDATA))
    return (self._linked.summed() + of_pages + of_items).summed()


class Shares(NamedTuple):
  """Parts of the pages that are read for something: of dev pages, or of the others."""

  train: float
  dev: float
  counted: float


class _Reading:
  """A pass over all paragraphs: it writes examples, and counts how often names are links."""

  def __init__(self, names: NameTable, ids: Mapping[str, int], shares: Shares):
    self.names, self.ids, self.shares = names, ids, shares
    self.occurrences: Counter[str] = Counter()
    self.links: Counter[str] = Counter()

  def write_examples(self, tables: Path, folder: Path) -> dict[str, int]:
    """Writes some paragraphs of pages; those with ambiguous names come first. Returns counts."""
    counts = {"train": 0, "dev": 0}
    with contextlib.ExitStack() as stack:
      files = {}
      for split in counts:
        part = stack.enter_context(whole(folder / f"{split}.jsonl"))
        files[split] = stack.enter_context(part.open("w", encoding="utf-8"))
      for title, sentences in itertools.groupby(read_sentences(tables), lambda x: x.title):
        split, place = "dev" if is_dev(title) else "train", _place(f"share {title}")
        counted = split == "train" and place < self.shares.counted
        chosen = place < (self.shares.dev if split == "dev" else self.shares.train)
        if not (counted or chosen):
          continue
        read = [LinkedParagraph.of(group) for group in by_paragraph(sentences)]
        for paragraph in read if counted else ():
          self._count(paragraph)
        for example in self._examples(title, read) if chosen else ():
          files[split].write(json.dumps(example, ensure_ascii=False) + "\n")
          counts[split] += 1
    return counts

  def linked(self, keys: np.ndarray) -> np.ndarray:
    """Returns how often names are links where they stand; 1 for those that were not counted."""
    shares = np.ones(len(self.names.keys), np.float32)
    for name, count in self.occurrences.items():
      if (place := self.names.place(name)) != NONE:
        shares[place] = (self.links[name] + 1) / (count + 1)
    return shares[np.searchsorted(self.names.keys, keys)]

  def _count(self, paragraph: "LinkedParagraph") -> None:
    linked, others = self._found(paragraph)
    self.links.update(linked)
    self.occurrences.update(linked)
    self.occurrences.update(paragraph.text[x:y] for x, y in others)

  def _found(self, paragraph: "LinkedParagraph") -> tuple[list[str], list[Bounds]]:
    """Returns the names that are links, and the bounds of those that mean nothing where they stand.

    In text without links only titles were looked for that mean one thing, so that what else has a
    capital and several meanings may mean any of them.
    """
    links = {(x.start, x.end) for x in paragraph.links}
    linked = [paragraph.text[x:y] for x, y in links]
    by_people = any(x.source == LINK for x in paragraph.links)
    others = []
    for start, end in names_in(paragraph.text, self.names.known):
      name = paragraph.text[start:end]
      open_to_all = not by_people and name[:1].isupper() and len(self.names.ids_of(name)) > 1
      if not open_to_all and not any(start < y and x < end for x, y in links):
        others.append((start, end))
    return linked, others

  def _examples(self, title: str, paragraphs: Sequence["LinkedParagraph"]) -> list[dict[str, Any]]:
    """Returns the examples of a page; the first paragraph, which describes it, is none."""
    rows = [x for x in paragraphs if x.number and x.links]
    rows.sort(key=lambda x: (not self._is_ambiguous(x), _place(x.text)))
    return [self._example(title, x) for x in rows[:OF_A_PAGE]]

  def _is_ambiguous(self, paragraph: "LinkedParagraph") -> bool:
    return any(len(self.names.ids_of(paragraph.text[x.start : x.end])) > 1 for x in paragraph.links)

  def _example(self, title: str, paragraph: "LinkedParagraph") -> dict[str, Any]:
    """Returns a paragraph with its links, and at most as many names that mean nothing there."""
    _, others = self._found(paragraph)
    meant = {self.ids.get(x) for x in (title, *(link.target for link in paragraph.links))}
    text = paragraph.text
    others = [x for x in others if meant.isdisjoint(self.names.ids_of(text[x[0] : x[1]]).tolist())]
    others.sort(key=lambda x: _place(f"{x[0]} {text}"))
    mentions = [[x.start, x.end, x.target] for x in paragraph.links]
    mentions += [[start, end, None] for start, end in others[: len(mentions)]]
    return {"text": text, "mentions": sorted(mentions, key=lambda x: x[:2])}


def _place(text: str) -> float:
  """Returns a number from 0 to 1 by the hash of a text."""
  return float(key_of(text)) / 2**64


def by_paragraph(sentences: Iterable[ExportedSentence]) -> Iterator[list[ExportedSentence]]:
  """Yields the sentences of a page paragraph by paragraph."""
  for _, paragraph in itertools.groupby(sentences, lambda x: (x.page_id, x.paragraph)):
    yield list(paragraph)


class LinkedParagraph(NamedTuple):
  """A paragraph of a page and its links to pages that there are."""

  number: int
  text: str
  links: list[ExportedLink]

  @classmethod
  def of(cls, sentences: Sequence[ExportedSentence]) -> "LinkedParagraph":
    """Returns the paragraph of sentences."""
    text, links = "", []
    for sentence in sentences:
      text += " " if text else ""
      at = len(text)
      links += [
        dataclasses.replace(x, start=x.start + at, end=x.end + at)
        for x in sentence.links
        if x.target_id is not None
      ]
      text += sentence.text
    return cls(sentences[0].paragraph, text, links)
