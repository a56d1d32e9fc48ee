"""The table name -> pages that the name links to, in a folder that `wiki build` made."""

import dataclasses
from typing import NamedTuple

import numpy as np

from luke_jax.errors import InputError, check_whole
from luke_jax.files import Path
from luke_jax.files.copies import local
from luke_jax.files.locks import locked
from luke_jax.wiki.mentions import stages
from luke_jax.wiki.mentions.stages import (
  CountDocuments,
  CountNames,
  Filter,
  MakeMentions,
  MergeNames,
)
from luke_jax.wiki.stages.page_stage import Titles, shards_of
from luke_jax.wiki.stages.progress import StageProgress
from luke_jax.wiki.stages.stage import MANIFEST, Done, Engine, Stage, check_made_of, read_finished
from luke_jax.wiki.stages.tokens import Names

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
    start, stop = self._starts[name], self._starts[name + 1]
    if self._further:
      return self._of_sources(slice(start, stop), min_prior)
    priors = (self._links[start:stop] / self._totals[name]).tolist()
    pages = self._pages[start:stop].tolist()
    return [
      Candidate(self.titles.table[page], prior)
      for page, prior in zip(pages, priors, strict=True)
      if prior >= min_prior
    ]

  def _of_sources(self, places: slice, min_prior: float) -> list[Candidate]:
    links, masks = self._links[places], self._masks[places]
    weights = stages.weights_of(links, masks)
    rows = zip(
      self._pages[places].tolist(),
      (weights / weights.sum()).tolist(),
      map(stages.sources_of, links.tolist(), masks.tolist()),
      strict=True,
    )
    return [
      Candidate(self.titles.table[page], prior, sources)
      for page, prior, sources in rows
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
