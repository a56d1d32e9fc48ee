"""Entities of Wikipedia in questions and passages, by a table of mentions (paper, appendix C)."""

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from pathlib import Path

from luke_jax.pipeline.cache import cached
from luke_jax.tasks.qa.files import Example, Link
from luke_jax.wiki.mentions.annotate import annotate, annotate_with, names_on_page
from luke_jax.wiki.mentions.pages import BuiltPages
from luke_jax.wiki.mentions.table import Mentions

_REMEMBERED = 8  # the paragraphs of an article, and their questions, come one after the other

Links = tuple[Link, ...]


def linked(examples: Sequence[Example], folder: str) -> list[Example]:
  """The examples with entities: of those that come without, what the folder's table finds."""
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


class _Linker:
  """Finds the names of pages in texts. Those that the vocabulary lacks take their place too."""

  def __init__(self, folder: str):
    self._mentions, self._pages = Mentions(Path(folder)), BuiltPages(Path(folder))
    self._names = functools.lru_cache(_REMEMBERED)(self._names_of)
    self.links = functools.lru_cache(_REMEMBERED)(self._links_in)

  def _links_in(self, text: str, title: str | None) -> Links:
    """The names that the article of the title links, with what they mean there.

    Of a text from no page of the build, the names that often are links, each with the page that it
    leads to most.
    """
    names = None if title is None else self._names(title)
    if names is not None:
      return tuple(Link(*found) for found in annotate_with(text, names))
    return tuple(
      Link(found.start, found.end, found.candidates[0].title)
      for found in annotate(text, self._mentions)
    )

  def _names_of(self, title: str) -> Mapping[str, str] | None:
    page = self._pages.page(title)
    return None if page is None else names_on_page(page, self._mentions)


_linker = cached(2)(_Linker)  # opened once
