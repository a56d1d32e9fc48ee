"""Annotations of a text: its names, with the pages that they may mean; and those pages by title.

Of names that overlap the first one counts, and of names that start together the longest.
"""

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple
from urllib.parse import unquote

import numpy as np

from luke_jax.files import Path, read_json
from luke_jax.text.alignment import AlignedEntity
from luke_jax.wiki.mentions.table import Candidate, Mentions
from luke_jax.wiki.read.pages import Page, page_from_bytes
from luke_jax.wiki.read.wikidata import read_names
from luke_jax.wiki.stages.page_stage import NOWHERE, Titles, shard_path, shards_of
from luke_jax.wiki.stages.stage import MANIFEST, check_made_of, open_records, read_finished
from luke_jax.wiki.stages.string_table import ABSENT
from luke_jax.wiki.stages.tokens import TOKEN, folded_token, name_of, token_hashes

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
