"""Stages `counts` and `vocabulary`: the links of each page, and the pages that become entities."""

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from luke_jax.errors import InputError
from luke_jax.files import Path, whole
from luke_jax.files.copies import local
from luke_jax.text import EntityVocab, load_entity_vocab, save_entity_vocab
from luke_jax.text.tokenizer import MASK, PAD, UNKNOWN
from luke_jax.wiki.stages.page_stage import NOWHERE, Shards, Titles
from luke_jax.wiki.stages.stored import save_array

SPECIAL = (PAD, UNKNOWN, MASK)  # with the ids 0, 1, 2
VOCABULARY, IDS, UNKNOWN_ID = "entity_vocab.jsonl", "ids.npy", "unknown_id.npy"


@dataclasses.dataclass(frozen=True)
class Selection:
  """A rule for the pages that become entities.

  The titles of allow-lists that are linked at all come first, in their order. Then come the most
  linked pages, and of pages linked equally often the first by title.
  """

  size: int = 500_000  # the most there may be, special entities included
  min_count: int = 0
  allowed: tuple[str, ...] = ()
  allowed_only: bool = False


@dataclasses.dataclass(frozen=True)
class CountLinks:
  """The function of a shard: counts its links by the page that they lead to."""

  folder: Path
  shards: Shards
  titles: Path

  def __call__(self, shard: int) -> Mapping[str, int]:
    """Writes an array (2, pages): page, number of links."""
    titles = Titles(self.titles)
    links = self.shards.read_names(shard).links
    counts = np.fromiter(links.values(), np.int64, len(links))
    pages = np.fromiter(map(titles.page, links), np.int64, len(links))
    linked, places = np.unique(pages, return_inverse=True)
    sums = np.bincount(places, counts, len(linked)).astype(np.int64)
    exists = linked != NOWHERE
    save_array(_counts_path(self.folder, shard), np.stack([linked[exists], sums[exists]]))
    return {"links": int(sums.sum()), "links_to_no_page": int(sums[~exists].sum())}


@dataclasses.dataclass(frozen=True)
class MakeVocabulary:
  """The function of the only shard: selects the entities, or takes those of `existing`."""

  folder: Path
  counts: Path
  shards: int
  titles: Path
  selection: Selection
  existing: Path | None = None
  language: str | None = None  # of the dump, for an existing vocabulary of several

  def __call__(self, shard: int) -> Mapping[str, int]:
    """Writes the vocabulary, and for each title its entity's id or -1."""
    titles = Titles(self.titles)
    counts = link_counts(self.counts, self.shards, len(titles))
    if self.existing:
      vocab = load_entity_vocab(self.existing)
      ids = _ids_in(vocab, titles, self.language, self.existing)
    else:
      pages = selected_pages(titles, counts, self.selection)
      ids = np.full(len(titles), NOWHERE, np.int32)
      ids[pages] = np.arange(len(SPECIAL), len(SPECIAL) + len(pages))
      names = [*SPECIAL, *(titles.table[page] for page in pages.tolist())]
      numbers = [0] * len(SPECIAL) + counts[pages].tolist()
      vocab = EntityVocab({name: id for id, name in enumerate(names)}, counts=numbers)
    save_array(self.folder / IDS, ids)
    save_array(self.folder / UNKNOWN_ID, np.array(vocab.unknown_id))
    with whole(self.folder / VOCABULARY) as part:
      save_entity_vocab(vocab, part)
    linked = int(counts[ids != NOWHERE].sum())
    return {"entities": len(vocab), "links": int(counts.sum()), "links_in_vocabulary": linked}


def link_counts(folder: Path, shards: int, titles: int) -> np.ndarray:
  """Returns the number of links to each page, by its number among the titles."""
  counts = np.zeros(titles, np.int64)
  for shard in range(shards):
    pages, links = np.load(local(_counts_path(folder, shard)))
    counts[pages] += links  # a page occurs once in each file
  return counts


def selected_pages(titles: Titles, counts: np.ndarray, selection: Selection) -> np.ndarray:
  """Returns the pages that become entities, in the order of their ids."""
  room = selection.size - len(SPECIAL)
  first = [page for page in _pages_of(selection.allowed, titles) if counts[page]]
  if len(first) > room:
    raise InputError(
      f"--entities {selection.size}: the allow-lists alone have {len(first)} linked titles;"
      f" expected {len(first) + len(SPECIAL)} or more"
    )
  if selection.allowed_only:
    if not first:
      raise InputError("--allowed-only: no title of the lists is linked; expected one or more")
    return np.array(first, np.int64)
  rest = np.flatnonzero(counts >= max(selection.min_count, 1))
  rest = rest[~np.isin(rest, first)]
  most = min(room - len(first), len(rest))
  rest = most_linked(rest, counts, most, titles.table.__getitem__)
  return np.concatenate([np.array(first, np.int64), rest])


def _counts_path(folder: Path, shard: int) -> Path:
  return folder / f"counts-{shard:05}.npy"


def _pages_of(names: Iterable[str], titles: Titles) -> Iterator[int]:
  pages = (titles.page(name) for name in names)
  yield from dict.fromkeys(page for page in pages if page != NOWHERE)


def most_linked(
  pages: np.ndarray, counts: np.ndarray, most: int, name: Callable[[int], Any]
) -> np.ndarray:
  """Returns the most linked pages or items, and of those linked equally often the first by name."""
  if not most:
    return pages[:0]
  least = np.partition(counts[pages], len(pages) - most)[len(pages) - most]
  candidates: list[int] = pages[counts[pages] >= least].tolist()
  candidates.sort(key=lambda page: (-counts[page], name(page)))
  return np.array(candidates[:most], np.int64)


def _ids_in(vocab: EntityVocab, titles: Titles, language: str | None, path: Path) -> np.ndarray:
  """Returns each page's id in an existing vocabulary, by its own title before its redirects."""
  ids = np.full(len(titles), NOWHERE, np.int32)
  by_redirect = []
  for id in range(len(vocab)):
    for title, of in vocab.titles(id):
      if of not in (None, language):
        continue
      index = titles.table.index(title)
      page = NOWHERE if index == NOWHERE else int(titles.targets[index])
      if page == index != NOWHERE:
        ids[page] = id
      elif page != NOWHERE:
        by_redirect.append((page, id))
  for page, id in by_redirect:
    if ids[page] == NOWHERE:
      ids[page] = id
  if (ids == NOWHERE).all():
    raise InputError(f"{path}: none of its titles is a page of the dump; expected the dump's wiki")
  return ids
