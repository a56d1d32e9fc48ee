"""The table name -> pages that the name links to, in a folder that `wiki build` made."""

from typing import NamedTuple

import numpy as np

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.files.copies import local
from luke_jax.wiki.mentions import stages
from luke_jax.wiki.stages.stage import MANIFEST, check_made_of
from luke_jax.wiki.stages.title_stage import Titles
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
