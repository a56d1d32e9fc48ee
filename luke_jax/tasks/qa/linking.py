"""Entities of Wikipedia in questions and passages, by a table of mentions (paper, appendix C)."""

import dataclasses
import functools
from collections.abc import Mapping, Sequence

from luke_jax.files import Path
from luke_jax.pipeline.cache import cached
from luke_jax.tasks.qa.files import Example, Link
from luke_jax.wiki.mentions.annotate import annotate, annotate_with, names_on_page
from luke_jax.wiki.mentions.pages import BuiltPages
from luke_jax.wiki.mentions.table import TABLE, Mentions
from luke_jax.wiki.stages.stage import MANIFEST

_CACHED = 8  # the paragraphs of an article, and their questions, come one after the other

Links = tuple[Link, ...]


def linked(examples: Sequence[Example], folder: str) -> list[Example]:
  """Returns the examples with entities; those without get the ones of the folder's table."""
  linker = _linker(folder)

  def links(given: Links | None, text: str, title: str | None) -> Links:
    return linker.links(text, title) if given is None else given

  return [
    dataclasses.replace(
      x,
      entities=links(x.entities, x.text, x.title),
      question_entities=links(x.question_entities, x.question, x.title),
    )
    for x in examples
  ]


def manifests(folder: str) -> list[str]:
  """Returns the files that have the sizes and the origin of all that links texts."""
  return [str(Path(folder) / stage / MANIFEST) for stage in ("titles", "pages", TABLE)]


class _Linker:
  """Finder of page names in texts; names outside of the vocabulary take their place too."""

  def __init__(self, folder: str):
    self._mentions, self._pages = Mentions(Path(folder)), BuiltPages(Path(folder))
    self._names = functools.lru_cache(_CACHED)(self._names_of)
    self.links = functools.lru_cache(_CACHED)(self._links_in)

  def _links_in(self, text: str, title: str | None) -> Links:
    """Returns the names that the article of the title links, with their meanings there.

    For a text from no page of the build, returns the names that are often links, each with the page
    that it links to most.
    """
    names = None if title is None else self._names(title)
    if names is not None:
      return tuple(Link(*name) for name in annotate_with(text, names))
    return tuple(
      Link(name.start, name.end, name.candidates[0].title)
      for name in annotate(text, self._mentions)
    )

  def _names_of(self, title: str) -> Mapping[str, str] | None:
    page = self._pages.page(title)
    return None if page is None else names_on_page(page, self._mentions)


_linker = cached(2)(_Linker)  # its files are opened once
