"""Names of pages besides the texts of links: each by where it is from, with a weight in links.

A name that is no link yet, as most titles are, would have no candidates by links alone. The weights
are small beside a link's, so that they decide only where there are hardly any links.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from luke_jax.wiki.read.own_names import base_title
from luke_jax.wiki.read.pages import Page
from luke_jax.wiki.stages.page_stage import Title

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
