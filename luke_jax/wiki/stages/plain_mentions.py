"""Finds names in text without links: a page's own, and those of other pages from a table.

A name counts where it stands by itself: inside of a longer one, as Paris in University of Paris
Press, it would mean something else. Of names that overlap the longest counts.
"""

import bisect
import re
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from luke_jax.files import Path
from luke_jax.wiki.read.markup import PageLink, Paragraph
from luke_jax.wiki.read.own_names import SMALL, base_title, own_names
from luke_jax.wiki.read.pages import Page
from luke_jax.wiki.stages.tokens import LINE_END, TOKEN, Names, token_hashes

OWN_TITLE, OWN_SHORT, TITLE, TABLE = "own-title", "own-short", "title", "table"
REPEAT = "repeat"  # of a link's text, on its page
SOURCES = (OWN_TITLE, OWN_SHORT, TITLE, TABLE)
_BEFORE = re.compile("(\\S+)[ \u00a0]$")
_AFTER = re.compile("[ \u00a0]([^\\W_]\\S*)")
_OF_NAME = re.compile(r" of (?:the )?[^\W\d_a-z]")
_YEAR = re.compile(r"\d{4}(?:[–/-]\d{2,4})?")
_INITIAL = re.compile(r"\b\w")
_JOINED = frozenset("-–/&_@#")
_END = frozenset('.!?:;,"”»)')
_QUOTE, _QUOTES = re.compile('"'), ('"', "“", "«", "「", "『")
_LONGEST_TITLE = 80  # characters
_REACH = 60  # characters beside a name that are looked at


class KnownName(NamedTuple):
  """A name of the table: its form, the page that it means, and where that is known from."""

  surface: str
  title: str
  source: str


def as_string(known: KnownName) -> str:
  """Returns a name of the table as it is stored."""
  return "\t".join(known)


class PlainMentions:
  """A finder of the names of other pages in texts; the names of a page itself need no table."""

  def __init__(self, folder: Path | None, left_out: frozenset[str] = frozenset()):
    self._names = Names(folder) if folder is not None else None
    self._left_out = left_out

  def linked(self, page: Page) -> Page:
    """Returns a page with the mentions in its paragraphs as links, beside those that it has."""
    names = own_names(page)
    forms = [(OWN_TITLE, name, page.title) for name in names.titles]
    forms += [(OWN_SHORT, name, page.title) for name in names.shorts]
    forms += [(REPEAT, name, target) for name, target in _linked_names(page)]
    others = self._others(page)
    paragraphs = []
    for number, paragraph in enumerate(page.paragraphs):
      added = [
        PageLink(name, target, start, start + len(name), source)
        for source, name, target in forms
        for start in _places(paragraph.text, name, source)
      ]
      if names.in_quotes:
        beginning = len(page.facts.first_sentence or "") if number == 0 else 0
        added = [x for x in added if x.start < beginning or _means_itself(paragraph.text, x)]
      links = [x for x in added + others.get(number, []) if x.source not in self._left_out]
      links = _outside_titles(paragraph.text, links) if links else []
      kept = _without_overlaps(paragraph, links) if links else paragraph.links
      paragraphs.append(paragraph._replace(links=tuple(kept)))
    return page._replace(paragraphs=tuple(paragraphs))

  def _others(self, page: Page) -> dict[int, list[PageLink]]:
    """Returns the names of other pages by the number of the paragraph."""
    by_paragraph: dict[int, list[PageLink]] = {}
    if self._names is None or not len(self._names):
      return by_paragraph
    tokens, ends = [], [0]
    for text, *_ in page.paragraphs:
      tokens += TOKEN.findall(text)
      tokens.append(LINE_END)  # no name goes on in the next paragraph
      ends.append(len(tokens))
    matches, spans = self._names.matches(token_hashes(tokens)), {}
    numbers = np.searchsorted(ends, matches.starts, side="right") - 1
    columns = (column.tolist() for column in (numbers, *matches))
    for number, start, length, name in zip(*columns, strict=True):
      text = page.paragraphs[number].text
      if number not in spans:
        spans[number] = [match.span() for match in TOKEN.finditer(text)]
      place = start - ends[number]
      first, last = spans[number][place][0], spans[number][place + length - 1][1]
      surface, title, source = self._names.strings[name].split("\t")
      if (
        text[first:last] == surface
        and title != page.title
        and _stands_alone(text, first, last, source)
      ):
        by_paragraph.setdefault(number, []).append(PageLink(surface, title, first, last, source))
    return by_paragraph


def _linked_names(page: Page) -> Iterator[tuple[str, str]]:
  """Yields the texts of a page's links that mean one page there, and are its own name.

  Other texts may be a link by what is beside them: Swedish that of the cinema of Sweden.
  """
  meant: dict[str, set[str]] = {}
  for paragraph in page.paragraphs:
    for link in paragraph.links:
      if _is_name_of(link.text, link.target):
        meant.setdefault(link.text, set()).add(link.target)
  for name, targets in meant.items():
    if len(targets) == 1:
      yield name, next(iter(targets))


def _is_name_of(text: str, title: str) -> bool:
  """Returns whether a link's text is the title of its page, its plural, or an acronym of it."""
  if (text.islower() and " " not in text) or len(text) < 2 or text.casefold() in SMALL:
    return False
  base = base_title(title)
  names = {base, f"{base}s", base.partition(", ")[0]}
  if text.casefold() in map(str.casefold, names):
    return not text.isdigit()
  initials = iter(_INITIAL.findall(base.upper()))
  return text.isalpha() and text.isupper() and all(letter in initials for letter in text)


def _places(text: str, name: str, source: str) -> Iterator[int]:
  start = text.find(name)
  while start >= 0:
    if _stands_alone(text, start, start + len(name), source):
      yield start
    start = text.find(name, start + len(name))


def _stands_alone(text: str, start: int, end: int, source: str) -> bool:
  """Returns whether a name is whole words, and neither side of it goes on with a name.

  A title after a year means that year's own event: the 1982 FIFA World Cup.
  """
  before, after = text[max(0, start - _REACH) : start], text[end : end + _REACH]
  if before and (before[-1].isalnum() or before[-1] in _JOINED or before[-1] in "'’."):
    return False
  if after and (after[0].isalnum() or after[0] in _JOINED):
    return False
  if after.startswith(("'s ", "’s ")):
    after = ""
  previous, following = _BEFORE.search(before), _AFTER.match(after)
  if previous and _goes_on(previous[1]):
    return False
  if previous and source in (OWN_TITLE, TITLE) and _YEAR.fullmatch(previous[1]):
    return False
  if following is None:
    return True
  # The Sea of Galilee, and The Wrath of Khan; but King Arthur of Britain on his own page.
  of_name = _OF_NAME.match(after) and (source == TITLE or " " not in text[start:end])
  return not (of_name or _is_name(following[1]) or _is_number(following[1]))


def _goes_on(word: str) -> bool:
  """Returns whether a name goes on from a word before it, which ends no sentence or part of one."""
  return (word[-1] not in _END or len(word) < 4) and _is_name(word)


def _is_name(word: str) -> bool:
  """Returns whether a word beside a name belongs to it: a capital, but no small word."""
  word = word.lstrip("(\"“'‘[")
  return word[:1].isupper() and word.casefold() not in SMALL


def _is_number(word: str) -> bool:
  digits = word.rstrip('.,;:!?)"”')
  return digits.isdigit() and len(digits) < 3


def _means_itself(text: str, link: PageLink) -> bool:
  """Returns whether a mention is no title, or one in quotes."""
  return link.source != OWN_TITLE or text[link.start - 1 : link.start] in _QUOTES


def _outside_titles(text: str, links: list[PageLink]) -> list[PageLink]:
  """Returns the links that are no part of a longer title in quotes, as of a book about a person."""
  quotes = [match.start() for match in _QUOTE.finditer(text)]
  if len(quotes) % 2:
    return links  # which quotes are a pair is not known
  outside = []
  for link in links:
    after = bisect.bisect(quotes, link.start)
    inner = text[quotes[after - 1] + 1 : quotes[after]] if after % 2 else ""
    is_title = inner.strip(" .,!?").removesuffix("'s") == link.text
    if is_title or not inner or len(inner) > _LONGEST_TITLE or not _is_title(inner):
      outside.append(link)
  return outside


def _is_title(text: str) -> bool:
  """Returns whether all words but short ones begin with capitals."""
  return all(len(word) < 4 or not word[0].islower() for word in text.split())


def _without_overlaps(paragraph: Paragraph, new: list[PageLink]) -> list[PageLink]:
  """Returns the links in order; the paragraph's own stay, and of the others the longest."""
  order = sorted(enumerate(new), key=lambda x: (x[1].start - x[1].end, x[0]))
  chosen = list(paragraph.links)
  taken = bytearray(len(paragraph.text))
  for link in paragraph.links:
    taken[link.start : link.end] = b"\1" * (link.end - link.start)
  for _, link in order:
    if not any(taken[link.start : link.end]):
      taken[link.start : link.end] = b"\1" * (link.end - link.start)
      chosen.append(link)
  return sorted(chosen, key=lambda link: link.start)
