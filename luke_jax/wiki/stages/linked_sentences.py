"""Splits paragraphs into sentences, whose links keep their text.

White space is collapsed to single spaces first, and the text begins with one, because a space
belongs to the word after it.
"""

import bisect
import functools
import itertools
import re
from collections.abc import Sequence
from typing import NamedTuple

from luke_jax.text.sentences import split_sentences
from luke_jax.wiki.read.markup import Paragraph

# White space to remove: all before the first word, all but one of each run (the group).
_REMOVED = re.compile(r"^\s+|\s(\s+)")


_SHORT = 40  # characters


class Sentence(NamedTuple):
  """A sentence cut into segments: text and links in turn, links at the odd places.

  Joined, the segments of a paragraph's sentences are its text, each space before its word.
  """

  segments: Sequence[str]
  targets: Sequence[str]  # of the links
  sources: Sequence[str] = ()  # of the links


class Split(NamedTuple):
  """The sentences of a paragraph, and the numbers of links across sentences and on only space."""

  sentences: Sequence[Sentence]
  links_across: int
  links_empty: int


_Place = tuple[int, int, str, str]  # of a link: start, end, target, source


def split_paragraph(paragraph: Paragraph, language: str) -> Split:
  """Returns the sentences of a paragraph, each with the links that are whole in it."""
  if not paragraph.links:
    short = len(paragraph.text) <= _SHORT
    return Split((_known if short else _without_links)(paragraph.text, language), 0, 0)
  text, links = _collapsed(paragraph)
  sentences, next_link, across, stop, edge = [], 0, 0, 0, 0
  for sentence in split_sentences(text, language):
    start, stop = stop, stop + len(sentence)
    segments, targets, sources = [], [], []
    while next_link < len(links) and links[next_link][0] < stop:
      first, last, target, source = links[next_link]
      next_link += 1
      if start <= first and last <= stop:
        before = first - (text[first - 1] == " ")  # a space belongs to the word after it
        segments += text[edge:before], text[before:last]
        targets.append(target)
        sources.append(source)
        edge = last
      else:
        across += 1
    start_of_next = stop - (text[stop - 1] == " ")
    segments.append(text[edge:start_of_next])
    edge = start_of_next
    sentences.append(Sentence(segments, targets, sources))
  return Split(sentences, across, len(paragraph.links) - len(links))


def _without_links(paragraph: str, language: str) -> list[Sentence]:
  """Returns the sentences of a paragraph that has no links."""
  text, _ = _collapsed(Paragraph(paragraph, (), False))
  stops = itertools.accumulate(map(len, split_sentences(text, language)))
  edges = [0, *[stop - (text[stop - 1] == " ") for stop in stops]]
  return [Sentence((text[start:end],), ()) for start, end in itertools.pairwise(edges)]


_known = functools.lru_cache(2**12)(_without_links)  # many pages have the same short lines


def _collapsed(paragraph: Paragraph) -> tuple[str, list[_Place]]:
  """Returns a space and the text with single spaces, and its links without space at their ends."""
  text = paragraph.text.replace("\u00a0", " ")
  # White space other than the space itself is not printable.
  if text.isprintable() and "  " not in text and text.strip(" ") == text:
    links = [(x.start + 1, x.end + 1, x.target, x.source) for x in paragraph.links]
    text = f" {text}"
  else:
    links, text = _moved(paragraph), f" {' '.join(text.split())}"
  if any(text[start] == " " or text[end - 1] == " " for start, end, *_ in links):
    trimmed = (
      (start + (text[start] == " "), end - (text[end - 1] == " "), target, source)
      for start, end, target, source in links
    )
    links = [link for link in trimmed if link[0] < link[1]]
  return text, links


def _moved(paragraph: Paragraph) -> list[_Place]:
  """Returns the places of the links in the text with single spaces and one before it."""
  runs = [match.span(match.lastindex or 0) for match in _REMOVED.finditer(paragraph.text)]
  starts = [start for start, _ in runs]
  removed = list(itertools.accumulate((end - start for start, end in runs), initial=-1))
  links = []
  for text, target, start, end, source in paragraph.links:
    if text and not text.isspace():
      start, end = start + len(text) - len(text.lstrip()), end - len(text) + len(text.rstrip())
      start, end = (place - removed[bisect.bisect(starts, place)] for place in (start, end))
      links.append((start, end, target, source))
  return links
