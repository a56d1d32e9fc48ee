"""Stages `pages` and `titles`: a dump's pages without markup, and the page that a title leads to.

Beside each shard of pages are its titles and links.
"""

import dataclasses
import functools
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import numpy as np

from luke_jax.files import Path, write_text
from luke_jax.files.copies import local
from luke_jax.wiki.read.dump import DumpPart, Site, read_pages
from luke_jax.wiki.read.markup import LINK
from luke_jax.wiki.read.pages import Page, page_from_bytes, page_from_raw, page_to_bytes
from luke_jax.wiki.stages.plain_mentions import PlainMentions
from luke_jax.wiki.stages.stage import Done
from luke_jax.wiki.stages.stored import (
  StringTable,
  read_records,
  save_array,
  write_records,
  write_string_table,
)

ARTICLES = 0  # the namespace of the pages that are read
_OPTIONS = "group_size:8,zstd:1"


class Title(NamedTuple):
  """A page as the table of titles needs it."""

  title: str
  redirect: str | None
  id: int = 0


class TitlesAndLinks(NamedTuple):
  """The titles of a shard's pages, and the number of their links by target."""

  titles: list[Title]
  links: dict[str, int]


@dataclasses.dataclass(frozen=True)
class Shards:
  """A finished stage of pages, shard by shard."""

  folder: Path
  pages: tuple[int, ...]  # in each shard

  def __len__(self) -> int:
    return len(self.pages)

  def read_pages(self, shard: int) -> Iterator[Page]:
    """Yields the pages of a shard that are no redirects, in the order of the dump."""
    path = shard_path(self.folder, "pages", shard, len(self))
    return map(page_from_bytes, read_records(path, self.pages[shard]))

  def read_names(self, shard: int) -> TitlesAndLinks:
    """Returns the titles of a shard, redirects included, and the targets of its links."""
    path = _names_path(self.folder, shard, len(self))
    titles, links = json.loads(path.read_text(encoding="utf-8"))
    return TitlesAndLinks([Title(*title) for title in titles], links)


@dataclasses.dataclass(frozen=True)
class MakePages:
  """The function of a shard: reads one part of the dump."""

  folder: Path
  parts: tuple[DumpPart, ...]
  site: Site
  sections: bool
  skip_bad: bool = False
  dense: bool = False  # mentions beside the links
  titles_only: bool = False

  def __call__(self, shard: int) -> Mapping[str, int]:
    """Writes the pages of a part with their titles and links, and returns the counts of each."""
    more: Counter[str] = Counter()
    counts = write_pages(self.folder, shard, len(self.parts), self._pages(shard, more))
    return {**counts, **more}

  def _pages(self, shard: int, counts: Counter) -> Iterator[Page]:
    faults: Counter = Counter()
    for raw in read_pages(self.parts[shard], faults=faults, skip_bad=self.skip_bad):
      if raw.namespace == ARTICLES:
        raw = dataclasses.replace(raw, text="") if self.titles_only else raw
        page = page_from_raw(raw, self.site, sections=self.sections, faults=faults)
        yield _dense(page, counts) if self.dense else page
    counts.update({f"fault: {kind}": number for kind, number in faults.items()})


def _dense(page: Page, counts: Counter) -> Page:
  """Returns a page with its names and those of its links linked wherever they are on it."""
  linked = PlainMentions(None).linked(page)
  sources = [link.source for paragraph in linked.paragraphs for link in paragraph.links]
  counts.update([f"mentions: {source}" for source in sources if source != LINK])
  return linked


def write_pages(folder: Path, shard: int, shards: int, pages: Iterable[Page]) -> dict[str, int]:
  """Writes the pages of a shard with their titles and links, and returns the counts of each."""
  counts: Counter[str] = Counter(pages=0, redirects=0)
  links: Counter[str] = Counter()
  titles: list[Title] = []

  def records() -> Iterator[bytes]:
    for page in pages:
      titles.append(Title(page.title, page.redirect, page.id))
      if page.redirect is not None:
        counts["redirects"] += 1
        continue
      counts["pages"] += 1
      counts["disambiguations"] += page.disambiguation
      counts["paragraphs"] += len(page.paragraphs)
      counts["characters"] += sum(len(paragraph.text) for paragraph in page.paragraphs)
      links.update([link.target for paragraph in page.paragraphs for link in paragraph.links])
      yield page_to_bytes(page)

  write_records(shard_path(folder, "pages", shard, shards), records(), _OPTIONS)
  write_text(_names_path(folder, shard, shards), json.dumps([titles, links], ensure_ascii=False))
  return {**counts, "links": links.total()}


def shard_path(folder: Path, name: str, shard: int, shards: int) -> Path:
  """Returns the path of a shard's ArrayRecord file."""
  return folder / f"{name}-{shard:05}-of-{shards:05}.array_record"


def shards_of(folder: Path, done: Done) -> Shards:
  """Returns the shards of a finished stage of pages."""
  return Shards(folder, tuple(counts["pages"] for counts in done.shards))


def _names_path(folder: Path, shard: int, shards: int) -> Path:
  return folder / f"names-{shard:05}-of-{shards:05}.json"


NOWHERE = -1
HOPS = 10  # the longest chain of redirects that is followed
_TARGETS, _PAGE_IDS = "targets.npy", "page_ids.npy"


class Titles:
  """All titles of a wiki by number, each with the page it leads to; small when pickled."""

  def __init__(self, folder: Path):
    self.folder = folder
    self.table = StringTable(folder)
    self.targets = np.load(local(folder / _TARGETS), mmap_mode="r")
    """The number of the page for each title: its own, that at the end of its redirects, or -1."""

  @functools.cached_property
  def page_ids(self) -> np.ndarray:
    """The id of the page with each title, its redirect's own where it is one; int64."""
    return np.load(local(self.folder / _PAGE_IDS), mmap_mode="r")

  def __reduce__(self):
    return Titles, (self.folder,)

  def __len__(self) -> int:
    return len(self.table)

  def page(self, title: str) -> int:
    """Returns the number of the page that a title leads to, -1 if there is none."""
    index = self.table.index(title)
    return index if index == NOWHERE else int(self.targets[index])


@dataclasses.dataclass(frozen=True)
class MakeTitles:
  """The function of the only shard: makes the whole table, because any title may lead to any."""

  folder: Path
  shards: Shards

  def __call__(self, shard: int) -> Mapping[str, int]:
    """Writes the table, and returns the counts of titles and of redirects that lead nowhere."""
    write_string_table(self.folder, (title.title for title in self._titles()))
    table = StringTable(self.folder)
    direct, ids = np.full(len(table), NOWHERE, np.int32), np.zeros(len(table), np.int64)
    twice = to_itself = 0
    for place, title in enumerate(self._titles()):
      index, ids[place] = table.index(title.title), title.id
      if index != place:  # a title that occurs twice: the first page counts
        twice += 1
        continue
      direct[index] = index if title.redirect is None else table.index(title.redirect)
      if title.redirect is not None and direct[index] == index:  # or it would look like a page
        to_itself += 1
        direct[index] = NOWHERE
    targets, faults = resolved(direct)
    save_array(self.folder / _TARGETS, targets)
    save_array(self.folder / _PAGE_IDS, ids)
    faults["redirects_in_loops"] += to_itself
    faults["redirects_to_no_page"] -= to_itself + twice  # these lead nowhere on purpose
    return {"titles": len(table), "titles_twice": twice, **faults}

  def _titles(self) -> Iterator[Title]:
    for shard in range(len(self.shards)):
      yield from self.shards.read_names(shard).titles


def resolved(direct: np.ndarray) -> tuple[np.ndarray, dict[str, int]]:
  """Returns the page at the end of each title's redirects, and how many have none, by reason.

  `direct` has the title that each leads to, which for a page is its own; -1 stands for none.
  """
  targets = direct
  for _ in range(HOPS - 1):
    targets = _followed(direct, targets)
  unfinished = (targets != NOWHERE) & (_followed(direct, targets) != targets)
  ends = direct
  for _ in range(len(direct).bit_length()):  # each time twice as far
    ends = _followed(ends, ends)
  loops = (ends != NOWHERE) & (_followed(direct, ends) != ends)
  faults = {
    "redirects_in_loops": int(loops.sum()),
    "redirects_too_long": int((unfinished & ~loops).sum()),
    "redirects_to_no_page": int((targets == NOWHERE).sum()),
  }
  return np.where(unfinished, NOWHERE, targets).astype(np.int32), faults


def _followed(steps: np.ndarray, places: np.ndarray) -> np.ndarray:
  return np.where(places == NOWHERE, NOWHERE, steps[places])
