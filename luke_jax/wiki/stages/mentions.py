"""The stages of the table of mentions: links, names, the pages that have a name, the table.

pages --links--> (name, page, links) per shard --names--> all names, the pages each leads to
      --counts--> the number of pages that have a name --mentions--> the table

A name that is no link yet, as most titles are, would have no candidates by links alone, so a table
may have further names of pages, by where they are from. Their weights are small beside a link's and
decide only where there are hardly any links.
"""

import dataclasses
import heapq
import itertools
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from luke_jax.errors import InputError
from luke_jax.files import Path, whole
from luke_jax.files.copies import local
from luke_jax.wiki.read.own_names import base_title
from luke_jax.wiki.read.pages import Page
from luke_jax.wiki.stages.page_stage import NOWHERE, Shards, Title, Titles
from luke_jax.wiki.stages.stored import StringTable, lines_of, save_array
from luke_jax.wiki.stages.tokens import LINE_END, TOKEN, Names, name_of, token_hashes, write_names

# Of name n, the candidates are at starts[n]:starts[n + 1]: pages, and the links of each.
STARTS, PAGES, LINKS = "candidate_starts.npy", "candidate_pages.npy", "candidate_links.npy"
SOURCES = "candidate_sources.npy"  # masks of the further sources, of a table with further names
TOTALS, DOCUMENTS = "links.npy", "documents.npy"
_TOKENS = 2**18  # tokens of the pages that are searched for names together, approximately
LINK = "link"
# A source's number in a mask is its place here.
FURTHER = ("title", "redirect", "base-title", "bold", "disambiguation")
WEIGHTS = np.array([0.5, 0.5, 0.25, 0.25, 0.25])  # in links


class FurtherName(NamedTuple):
  """A name of a page, by the title of the page, and its source."""

  text: str
  title: str
  source: str


def names_of_page(page: Page) -> Iterator[FurtherName]:
  """Yields the names that a page gives: its title and bold names, or those that it lists."""
  base = base_title(page.title)
  if page.disambiguation:
    for paragraph in page.paragraphs:
      if paragraph.links:  # a line is about the page that it links first
        yield FurtherName(base, paragraph.links[0].target, "disambiguation")
    return
  yield FurtherName(page.title, page.title, "title")
  if base != page.title:
    yield FurtherName(base, page.title, "base-title")
  for name in page.facts.names:
    yield FurtherName(name, page.title, "bold")


def names_of_redirects(titles: Sequence[Title]) -> Iterator[FurtherName]:
  """Yields the names that redirects give to the pages that they lead to."""
  for title, redirect, _ in titles:
    if redirect is not None:
      yield FurtherName(title, title, "redirect")
      if base_title(title) != title:
        yield FurtherName(base_title(title), title, "base-title")


def bit(source: str) -> int:
  """Returns a source as a mask of sources; a link has none."""
  return 0 if source == LINK else 1 << FURTHER.index(source)


def weights_of(links: np.ndarray, masks: np.ndarray) -> np.ndarray:
  """Returns the weight of each candidate: its links, and what its further sources count."""
  bits = masks[:, None] >> np.arange(len(FURTHER)) & 1
  return links + bits @ WEIGHTS


def sources_of(links: int, mask: int) -> tuple[str, ...]:
  """Returns the names of a candidate's sources."""
  further = tuple(source for source in FURTHER if mask & bit(source))
  return (LINK, *further) if links else further


class CandidateArrays(NamedTuple):
  """Candidates of names: those of name n are at `starts[n]:starts[n + 1]` of the other arrays."""

  starts: np.ndarray
  pages: np.ndarray
  links: np.ndarray
  masks: np.ndarray  # of further sources; zeros in a table of links alone


@dataclasses.dataclass(frozen=True)
class Filter:
  """Thresholds for the names and candidates in the table."""

  min_link_probability: float = 0.01
  """Smallest share of the pages with a name on which it is a link."""
  max_candidates: int = 100
  """Largest number of pages for a name; the most linked are kept."""
  min_count: int = 1
  """Smallest number of links from a name to a page."""


@dataclasses.dataclass(frozen=True)
class CountNames:
  """The function of a shard of links: counts its links by name and page."""

  folder: Path
  shards: Shards
  titles: Path
  max_tokens: int
  further: bool = False  # names besides the texts of links

  def __call__(self, shard: int) -> Mapping[str, int]:
    """Writes lines of name, page, number of links and sources, in the order of the names."""
    titles, pages = Titles(self.titles), 0
    links: Counter[tuple[str, str]] = Counter()
    further: set[FurtherName] = set()
    for page in self.shards.read_pages(shard):
      pages += 1
      for paragraph in page.paragraphs:
        links.update([(link.text, link.target) for link in paragraph.links])
      if self.further:
        further.update(names_of_page(page))
    if self.further:
      further.update(names_of_redirects(self.shards.read_names(shard).titles))
    counts: Counter[tuple[str, int]] = Counter()
    dropped = Counter(links_to_no_page=0, links_without_name=0)
    for (text, target), count in links.items():
      name, to = name_of(text, self.max_tokens), titles.page(target)
      if name is not None and to != NOWHERE:
        counts[name, to] += count
      else:
        dropped["links_to_no_page" if to == NOWHERE else "links_without_name"] += count
    masks = self._masks(further, titles)
    lines = sorted(
      _line(name, to, counts[name, to], masks.get((name, to), 0))
      for name, to in counts.keys() | masks.keys()
    )
    with whole(_links_path(self.folder, shard)) as part:
      part.write_bytes(b"".join(lines))
    return {"pages": pages, "links": counts.total(), **dropped}

  def _masks(self, further: Iterable[FurtherName], titles: Titles) -> dict[tuple[str, int], int]:
    masks: dict[tuple[str, int], int] = {}
    for text, title, source in further:
      name, to = name_of(text, self.max_tokens), titles.page(title)
      if name is not None and to != NOWHERE:
        masks[name, to] = masks.get((name, to), 0) | bit(source)
    return masks


@dataclasses.dataclass(frozen=True)
class MergeNames:
  """The function of the stage of names: merges the names of all shards.

  Its numbers are in memory, and a little of each shard.
  """

  folder: Path
  links: Path
  shards: int

  def __call__(self, shard: int) -> Mapping[str, int]:
    """Writes all names, and for each the pages it leads to with their numbers of links."""
    starts, pages, links, masks = array("Q", [0]), array("i"), array("Q"), array("B")

    def names() -> Iterator[str]:
      for name, candidates in self._names():
        for page, (count, mask) in sorted(candidates.items()):
          pages.append(page)
          links.append(count)
          masks.append(mask)
        starts.append(len(pages))
        yield name

    write_names(self.folder, names())
    if len(starts) == 1:
      raise InputError(f"{self.links}: no link leads to a page; expected one or more")
    columns = (np.frombuffer(x, x.typecode) for x in (starts, pages, links, masks))
    _save_candidates(self.folder, CandidateArrays(*columns))
    return {"names": len(starts) - 1, "candidates": len(pages), "links": int(np.sum(links))}

  def _names(self) -> Iterator[tuple[str, dict[int, tuple[int, int]]]]:
    files = (lines_of(_links_path(self.links, shard)) for shard in range(self.shards))
    # A tab sorts before the space between tokens, so the lines of a name are together.
    rows = (line.split(b"\t") for line in heapq.merge(*files))
    for name, group in itertools.groupby(rows, key=lambda row: row[0]):
      candidates: dict[int, tuple[int, int]] = {}
      for _, page, count, mask in group:
        links, masks = candidates.get(int(page), (0, 0))
        candidates[int(page)] = links + int(count), masks | int(mask)
      yield name.decode(errors="surrogatepass"), candidates


@dataclasses.dataclass(frozen=True)
class CountDocuments:
  """The function of a shard of counts: counts the pages that have a name, in longer names too."""

  folder: Path
  shards: Shards
  names: Path

  def __call__(self, shard: int) -> Mapping[str, int]:
    """Writes an array (2, names) of names and their numbers of pages."""
    names = Names(self.names)
    counts, pages, characters = np.zeros(len(names), np.int32), 0, 0
    for texts in self._batches(shard):
      pages += len(texts)
      characters += sum(map(len, texts))
      _count_pages(names, texts, counts)
    present = np.flatnonzero(counts).astype(np.int32)
    save_array(_counts_path(self.folder, shard), np.stack([present, counts[present]]))
    return {"pages": pages, "characters": characters}

  def _batches(self, shard: int) -> Iterator[list[str]]:
    batch, size = [], 0
    for page in self.shards.read_pages(shard):
      batch.append(LINE_END.join([paragraph.text for paragraph in page.paragraphs]))
      size += len(batch[-1])
      if size > 5 * _TOKENS:
        yield batch
        batch, size = [], 0
    if batch:
      yield batch


@dataclasses.dataclass(frozen=True)
class MakeMentions:
  """The function of the last stage: joins the counts of each name, and applies the filter."""

  folder: Path
  names: Path
  counts: Path
  shards: int
  filter: Filter

  def __call__(self, shard: int) -> Mapping[str, int]:
    """Writes the table, and returns its counts of names and candidates."""
    every = read_candidates(self.names)
    every = every._replace(starts=every.starts.astype(np.int64))
    starts, pages, links, masks = every
    documents = self._documents(len(starts) - 1)
    totals = np.add.reduceat(links.astype(np.int64), starts[:-1])
    likely = link_probabilities(totals, documents) >= self.filter.min_link_probability
    likely |= np.bitwise_or.reduceat(masks, starts[:-1]) > 0
    owners, places = self._kept(every, likely)
    sizes = np.bincount(owners, minlength=len(likely))
    names = np.flatnonzero(sizes)
    if not len(names):
      raise InputError(
        f"{self.names}: none of its {len(likely)} names is linked so often; expected a lower"
        " --min-link-probability or --min-count"
      )
    strings = StringTable(self.names)
    write_names(self.folder, (strings[name] for name in names.tolist()))
    edges = np.append(0, np.cumsum(sizes[names]))
    candidates = CandidateArrays(edges, pages[places], links[places], masks[places])
    _save_candidates(self.folder, candidates)
    save_array(self.folder / TOTALS, _small(totals[names]))
    save_array(self.folder / DOCUMENTS, documents[names])
    return {
      "names": len(names),
      "candidates": len(places),
      "names_left_out": len(likely) - len(names),
    }

  def _documents(self, names: int) -> np.ndarray:
    documents = np.zeros(names, np.uint32)
    for shard in range(self.shards):
      present, counts = np.load(local(_counts_path(self.counts, shard)))
      documents[present] += counts.astype(np.uint32)
    return documents

  def _kept(self, every: CandidateArrays, likely: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns the name and the place of each candidate to keep, by name, the heaviest first."""
    starts, pages, links, masks = every
    owners = np.repeat(np.arange(len(likely)), np.diff(starts))
    order = np.lexsort((pages, -weights_of(links, masks), owners))
    ranks = np.arange(len(owners)) - starts[:-1][owners]
    keep = likely[owners] & (ranks < self.filter.max_candidates)
    keep &= (links[order] >= self.filter.min_count) | (masks[order] > 0)
    return owners[keep], order[keep]


def link_probabilities(links: np.ndarray, documents: np.ndarray) -> np.ndarray:
  """Returns the share of the pages with a name where it is a link, at most 1.

  A link's text may be a part of a word. Then it is counted as a link but on no page.
  """
  return np.minimum(1.0, links / np.maximum(documents, 1))


def read_candidates(folder: Path) -> CandidateArrays:
  """Returns the candidates of all names, mapped into memory."""
  starts, pages, links = (
    np.asarray(np.load(local(folder / name), mmap_mode="r")) for name in (STARTS, PAGES, LINKS)
  )
  if not (folder / SOURCES).exists():
    return CandidateArrays(starts, pages, links, np.zeros(len(pages), np.uint8))
  masks = np.asarray(np.load(local(folder / SOURCES), mmap_mode="r"))
  return CandidateArrays(starts, pages, links, masks)


def _save_candidates(folder: Path, candidates: CandidateArrays) -> None:
  starts, pages, links, masks = candidates
  if masks.any():
    save_array(folder / SOURCES, masks)
  save_array(folder / STARTS, _small(starts))
  save_array(folder / PAGES, pages.astype(np.int32))
  save_array(folder / LINKS, _small(links))


def _small(numbers: np.ndarray) -> np.ndarray:
  """Returns the numbers in four bytes each if they fit, else in eight."""
  return numbers.astype(np.uint32 if int(numbers.max(initial=0)) < 2**32 else np.uint64)


def _count_pages(names: Names, texts: list[str], counts: np.ndarray) -> None:
  """Adds 1 to the count of each name for each of the texts that have it."""
  tokens, ends = [], []
  for text in texts:
    tokens += TOKEN.findall(text)
    tokens.append(LINE_END)  # no name continues on the next page
    ends.append(len(tokens))
  matches = names.matches(token_hashes(tokens))
  pages = np.searchsorted(np.array(ends), matches.starts, side="right")
  once = np.unique(pages * len(names) + matches.names)
  present, number = np.unique(once % len(names), return_counts=True)
  counts[present] += number.astype(counts.dtype)


def _line(name: str, page: int, count: int, mask: int) -> bytes:
  return f"{name}\t{page}\t{count}\t{mask}\n".encode(errors="surrogatepass")


def _links_path(folder: Path, shard: int) -> Path:
  return folder / f"links-{shard:05}.tsv"


def _counts_path(folder: Path, shard: int) -> Path:
  return folder / f"documents-{shard:05}.npy"
