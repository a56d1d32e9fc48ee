"""The table name -> pages that the name links to, of `wiki mentions`, and texts with its names.

Of names that overlap the first one counts, and of names that start together the longest.
"""

import dataclasses
import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple
from urllib.parse import unquote

import numpy as np

from luke_jax.errors import InputError, check_whole
from luke_jax.files import Path, read_json
from luke_jax.files.copies import local
from luke_jax.files.locks import locked
from luke_jax.text.alignment import AlignedEntity
from luke_jax.wiki.read.pages import Page, page_from_bytes
from luke_jax.wiki.read.wikidata import read_names
from luke_jax.wiki.stages import mentions as stages
from luke_jax.wiki.stages.mentions import (
  CountDocuments,
  CountNames,
  Filter,
  MakeMentions,
  MergeNames,
)
from luke_jax.wiki.stages.page_stage import NOWHERE, Titles, shard_path, shards_of
from luke_jax.wiki.stages.progress import StageProgress
from luke_jax.wiki.stages.stage import MANIFEST, Done, Engine, Stage, check_made_of, read_finished
from luke_jax.wiki.stages.stored import ABSENT, open_records
from luke_jax.wiki.stages.tokens import TOKEN, Names, folded_token, name_of, token_hashes

TABLE = "mentions"


class Candidate(NamedTuple):
  """A page that a name links to, and its share of the links with that name.

  In a table with further names the share is of weights, and `sources` say where the name is from.
  """

  title: str
  prior: float
  sources: tuple[str, ...] = ()


class Mentions:
  """The finished table; opening it reads almost nothing, and it is small when pickled."""

  def __init__(self, folder: Path):
    self.folder = folder
    table = folder / TABLE
    if not (table / MANIFEST).is_file():
      raise InputError(f"{table}: no table of mentions; expected luke-jax wiki mentions to make it")
    check_made_of(table, "titles")
    self.titles, self.names = Titles(folder / "titles"), Names(table)
    self._starts, self._pages, self._links, self._masks = stages.read_candidates(table)
    self._further = (table / stages.SOURCES).exists()
    self._totals = np.asarray(np.load(local(table / stages.TOTALS), mmap_mode="r"))
    self._documents = np.asarray(np.load(local(table / stages.DOCUMENTS), mmap_mode="r"))

  def __reduce__(self):
    return Mentions, (self.folder,)

  def __len__(self) -> int:
    return len(self.names)

  def number(self, name: str) -> int:
    """Returns the number of a name as `name_of` returns it, -1 if the table lacks it."""
    return self.names.strings.index(name)

  def link_probabilities(self, names: np.ndarray) -> np.ndarray:
    """Returns for each name the share of the pages with it where it is a link."""
    return stages.link_probabilities(self._totals[names], self._documents[names])

  def candidates(self, name: int, min_prior: float = 0.0) -> list[Candidate]:
    """Returns the pages of a name with at least that prior, the most linked first."""
    places = slice(self._starts[name], self._starts[name + 1])
    links, pages = self._links[places], self._pages[places].tolist()
    if self._further:
      masks = self._masks[places]
      weights = stages.weights_of(links, masks)
      priors = weights / weights.sum()
      sources = list(map(stages.sources_of, links.tolist(), masks.tolist()))
    else:
      priors, sources = links / self._totals[name], [()] * len(pages)
    return [
      Candidate(self.titles.table[page], prior, of_page)
      for page, prior, of_page in zip(pages, priors.tolist(), sources, strict=True)
      if prior >= min_prior
    ]


MAX_TOKENS = 20


def make_mentions(
  folder: Path,
  thresholds: Filter,
  engine: Engine,
  *,
  max_tokens: int = MAX_TOKENS,
  further: bool = False,
) -> dict[str, Done]:
  """Makes the missing stages of the table in a build's folder, and returns all by name.

  With `further` the table also has names that are no links, as `further_names` lists them.
  """
  _check(thresholds, max_tokens)
  folder = folder.resolve()
  read_finished(folder / "pages")  # first, so that only the folder of a build is locked
  stages: dict[str, Done] = {}
  with locked(folder), StageProgress() as progress:
    pages, titles = read_finished(folder / "pages"), read_finished(folder / "titles")
    check_made_of(folder / "titles", "pages")
    shards = shards_of(folder / "pages", pages)
    links, names, counts = (folder / f"mention_{part}" for part in ("links", "names", "counts"))

    def made(stage: Stage) -> str:
      stages[stage.name] = progress.finish(stage, engine)
      return stages[stage.name].key

    read = CountNames(links, shards, folder / "titles", max_tokens, further)
    facts = {"pages": pages.key, "titles": titles.key, "max_tokens": max_tokens}
    facts |= {"further": True} if further else {}
    # Version 1 had no sources.
    linked = made(Stage(links, len(shards), read, facts, version=2))
    merge = MergeNames(names, links, len(shards))
    named = made(Stage(names, 1, merge, {"links": linked}))
    count = CountDocuments(counts, shards, names)
    counted = made(Stage(counts, len(shards), count, {"pages": pages.key, "names": named}))
    make = MakeMentions(folder / TABLE, names, counts, len(shards), thresholds)
    parts = {"titles": titles.key, "names": named, "counts": counted}
    made(Stage(make.folder, 1, make, parts | dataclasses.asdict(thresholds)))
  return stages


def _check(thresholds: Filter, max_tokens: int) -> None:
  probability = thresholds.min_link_probability
  if not 0 <= probability <= 1:
    raise InputError(f"--min-link-probability: {probability}; expected a number from 0 to 1")
  numbers = {"--max-candidates": thresholds.max_candidates, "--min-count": thresholds.min_count}
  check_whole(1, **numbers, **{"--max-tokens": max_tokens})


# Below the first, which is the paper's for SQuAD, a name is hardly ever a link. A text from an
# unknown page needs a higher one.
LINKED_AT_ALL, LINKED_OFTEN = 0.01, 0.1


class Annotation(NamedTuple):
  """A name in a text, `text[start:end]`, and the pages that it may mean, the likeliest first."""

  start: int
  end: int
  link_probability: float
  candidates: tuple[Candidate, ...]


class PageAnnotation(NamedTuple):
  """A name in a text, `text[start:end]`, and the one page that it means."""

  start: int
  end: int
  title: str


def annotate(
  text: str,
  mentions: Mentions,
  *,
  min_link_probability: float = LINKED_OFTEN,
  min_prior: float = 0.0,
) -> list[Annotation]:
  """Returns the names in a text that are in the table, from left to right, the longest first.

  Names below the link probability, or without a candidate of the prior, are ignored.
  """
  spans = [match.span() for match in TOKEN.finditer(text)]
  tokens = [text[start:end] for start, end in spans]
  matches = mentions.names.matches(token_hashes(tokens))
  likely = mentions.link_probabilities(matches.names)
  linked = likely >= min_link_probability
  starts, lengths, names = (column[linked] for column in matches)
  order = np.lexsort((-lengths, starts))
  rows = zip(*(x[order].tolist() for x in (starts, lengths, names, likely[linked])), strict=True)
  annotations, free = [], 0
  for start, length, name, probability in rows:
    if start < free or not _is_name(mentions, name, tokens[start : start + length]):
      continue
    candidates = mentions.candidates(name, min_prior)
    if candidates:
      free = start + length
      span = spans[start][0], spans[free - 1][1]
      annotations.append(Annotation(*span, probability, tuple(candidates)))
  return annotations


def names_on_page(
  page: Page, mentions: Mentions, *, min_link_probability: float = LINKED_AT_ALL
) -> dict[str, str]:
  """Returns the names of a page's links with the page that each means.

  A name that means several pages there is left out, as is one that the table lacks or that is
  linked too rarely, and a link to a page that does not exist.
  """
  meant: dict[str, set[str]] = {}
  for paragraph in page.paragraphs:
    for link in paragraph.links:
      name, to = name_of(link.text, len(link.text)), mentions.titles.page(link.target)
      if name is None or to == NOWHERE:
        continue
      if _linked(name, mentions) >= min_link_probability:
        meant.setdefault(name, set()).add(mentions.titles.table[to])
  return {name: next(iter(pages)) for name, pages in meant.items() if len(pages) == 1}


def annotate_with(text: str, names: Mapping[str, str]) -> list[PageAnnotation]:
  """Returns the places of one page's names in a text, from left to right, the longest first."""
  lengths: dict[str, set[int]] = {}
  for name in names:
    first, *rest = name.split(" ")
    lengths.setdefault(first, set()).add(1 + len(rest))
  longest = {first: sorted(of_first, reverse=True) for first, of_first in lengths.items()}
  spans = [match.span() for match in TOKEN.finditer(text)]
  tokens = [folded_token(text[start:end]) for start, end in spans]
  return [
    PageAnnotation(spans[start][0], spans[stop - 1][1], names[" ".join(tokens[start:stop])])
    for start, stop in _longest(tokens, names, longest)
  ]


def _linked(name: str, mentions: Mentions) -> float:
  number = mentions.number(name)
  return -1.0 if number == ABSENT else float(mentions.link_probabilities(np.array([number]))[0])


def _longest(
  tokens: Sequence[str], names: Mapping[str, str], lengths: Mapping[str, Sequence[int]]
) -> Iterator[tuple[int, int]]:
  start = 0
  while start < len(tokens):
    stops = (start + length for length in lengths.get(tokens[start], ()))
    stop = next((stop for stop in stops if " ".join(tokens[start:stop]) in names), None)
    if stop is not None:
      yield start, min(stop, len(tokens))
    start = start + 1 if stop is None else stop


def _is_name(mentions: Mentions, name: int, tokens: Sequence[str]) -> bool:
  """Returns whether the tokens are the name, and do not only share its hash."""
  return mentions.names.strings[name] == " ".join(map(folded_token, tokens))


class BuiltPages:
  """A reader of single pages of a build. The titles of a few shards stay in memory."""

  def __init__(self, folder: Path):
    check_made_of(folder / "titles", "pages")
    done = read_finished(folder / "pages")
    self._shards = shards_of(folder / "pages", done)
    self._titles = Titles(folder / "titles")
    # The titles' table numbers the titles of all shards in their order, redirects included.
    sizes = [shard["pages"] + shard["redirects"] for shard in done.shards]
    self._starts = np.cumsum([0, *sizes])
    self._records = functools.lru_cache(maxsize=8)(self._records_of)

  def page(self, title: str) -> Page | None:
    """Returns the page that a title leads to, or None; the title may be as in a web address."""
    number = self._titles.page(unquote(title).replace("_", " "))
    if number == NOWHERE:
      return None
    shard = int(np.searchsorted(self._starts, number, side="right")) - 1
    record = int(self._records(shard)[number - self._starts[shard]])
    path = shard_path(self._shards.folder, "pages", shard, len(self._shards))
    reader = open_records(path, self._shards.pages[shard])
    data = reader.read([record])[0]
    reader.close()
    return page_from_bytes(data)

  def _records_of(self, shard: int) -> np.ndarray:
    """Returns the number of the record of each title in a shard; redirects have none."""
    pages = [title.redirect is None for title in self._shards.read_names(shard).titles]
    return np.cumsum(pages) - 1


class MentionLinker:
  """Finds the names of a wiki's pages in a text; each means the page that it links to most."""

  def __init__(
    self,
    mentions: Mentions,
    entities: Mapping[str, str],
    *,
    min_link_probability: float = LINKED_OFTEN,
  ):
    """Links to `entities`, names in the graph by the title of their page."""
    self.mentions, self.entities = mentions, entities
    self.min_link_probability = min_link_probability

  @classmethod
  def of(cls, build: str | Path, titles: str | Path) -> "MentionLinker":
    """Reads the mentions of a build, and a file of titles with their Qids or Wikidata's dump."""
    build, titles = Path(build), Path(titles)
    mentions = Mentions(build)
    site = read_json(build / "pages" / MANIFEST)["made_of"]["site"]["database"]
    return cls(mentions, dict(read_names(titles, site)))

  def __call__(self, text: str) -> list[AlignedEntity]:
    """Returns the links of a text; a score is the share of the name's uses that lead there."""
    names = annotate(text, self.mentions, min_link_probability=self.min_link_probability)
    return [
      AlignedEntity(
        self.entities[best.title], name.start, name.end, name.link_probability * best.prior
      )
      for name, best in ((name, name.candidates[0]) for name in names)
      if best.title in self.entities
    ]
