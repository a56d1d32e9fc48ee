"""Paragraphs as sentences, whose links lie on the very same text.

White space is collapsed to single spaces first, and the text begins with one, for a space belongs
to the word after it. Sentences come from sencentex, in the language of the wiki; for one that it
does not know it takes a related language's rules or, at last, its own of English.
"""

import bisect
import itertools
import re
from typing import NamedTuple

from luke_jax.wiki.markup import Paragraph

# White space that goes: all before the first word, all but one of each run (the group).
_GONE = re.compile(r"^\s+|\s(\s+)")


class Sentence(NamedTuple):
  """A sentence in pieces: text and links in turn, links at the odd places.

  Joined, the pieces of a paragraph's sentences are its text, each space before its word.
  """

  pieces: list[str]
  targets: list[str]  # of the links


class Split(NamedTuple):
  """The sentences of a paragraph, and how many links lie in none, or on nothing but space."""

  sentences: list[Sentence]
  links_across: int
  links_empty: int


_Place = tuple[int, int, str]  # of a link: start, end, target


def split(paragraph: Paragraph, language: str) -> Split:
  """The sentences of a paragraph with the links that lie fully inside of one."""
  text, links = _collapsed(paragraph)
  sentences, waiting, across, stop, edge = [], 0, 0, 0, 0
  for sentence in segments(text, language):
    start, stop = stop, stop + len(sentence)
    pieces, targets = [], []
    while waiting < len(links) and links[waiting][0] < stop:
      first, last, target = links[waiting]
      waiting += 1
      if start <= first and last <= stop:
        before = first - (text[first - 1] == " ")  # a space goes with the word after it
        pieces += text[edge:before], text[before:last]
        targets.append(target)
        edge = last
      else:
        across += 1
    start_of_next = stop - (text[stop - 1] == " ")
    pieces.append(text[edge:start_of_next])
    edge = start_of_next
    sentences.append(Sentence(pieces, targets))
  return Split(sentences, across, len(paragraph.links) - len(links))


def segments(text: str, language: str) -> list[str]:
  """The sentences of a text; joined they are the text again."""
  import sentencex

  try:
    found: list[str] = sentencex.segment(language, text)
  except BaseException as fault:
    # What Rust throws is no Exception. No text with single spaces has been seen to do so.
    if type(fault).__name__ != "PanicException":
      raise
    return [text]
  return found if sum(map(len, found)) == len(text) else [text]


def _collapsed(paragraph: Paragraph) -> tuple[str, list[_Place]]:
  """The text after one space, with single spaces in it, and its links without space around them."""
  text = paragraph.text.replace("\u00a0", " ")
  # White space other than the space itself is not printable.
  if text.isprintable() and "  " not in text and text.strip(" ") == text:
    links = [(start + 1, end + 1, target) for _, target, start, end in paragraph.links]
    text = f" {text}"
  else:
    links, text = _moved(paragraph), f" {' '.join(text.split())}"
  if any(text[start] == " " or text[end - 1] == " " for start, end, _ in links):
    trimmed = ((i + (text[i] == " "), j - (text[j - 1] == " "), target) for i, j, target in links)
    links = [link for link in trimmed if link[0] < link[1]]
  return text, links


def _moved(paragraph: Paragraph) -> list[_Place]:
  """The links where they are once there are single spaces only, one of them before all."""
  runs = [match.span(match.lastindex or 0) for match in _GONE.finditer(paragraph.text)]
  starts = [start for start, _ in runs]
  gone = list(itertools.accumulate((end - start for start, end in runs), initial=-1))
  links = []
  for text, target, start, end in paragraph.links:
    if text and not text.isspace():
      start, end = start + len(text) - len(text.lstrip()), end - len(text) + len(text.rstrip())
      start, end = (place - gone[bisect.bisect(starts, place)] for place in (start, end))
      links.append((start, end, target))
  return links
