"""Stage `pages`: the pages of a dump without markup; beside each shard its titles and links."""

import dataclasses
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from luke_jax.files import Path, write_text
from luke_jax.wiki.read.dump import DumpPart, Site, read_pages
from luke_jax.wiki.read.markup import LINK
from luke_jax.wiki.read.pages import Page, page_from_bytes, page_from_raw, page_to_bytes
from luke_jax.wiki.stages.files import read_records, write_records
from luke_jax.wiki.stages.plain_mentions import PlainMentions
from luke_jax.wiki.stages.stage import Done

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

  def __call__(self, shard: int) -> Mapping[str, int]:
    """Writes the pages of a part with their titles and links, and returns the counts of each."""
    more: Counter[str] = Counter()
    counts = write_pages(self.folder, shard, len(self.parts), self._pages(shard, more))
    return {**counts, **more}

  def _pages(self, shard: int, counts: Counter) -> Iterator[Page]:
    faults: Counter = Counter()
    for raw in read_pages(self.parts[shard], faults=faults, skip_bad=self.skip_bad):
      if raw.namespace == ARTICLES:
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
