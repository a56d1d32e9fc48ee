"""Names in English sentences with their types, by links and by the words in and around them."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from data.wiki_types.kinds import NAMES, kinds_of, listings, words
from data.wiki_types.page_types import PageTypes, with_kinds
from luke_jax.wiki.export.tables import ExportedSentence
from luke_jax.wiki.read.own_names import SMALL

_WORD = re.compile(r"'s\b|\w+|[^\w\s]")
_JOINS = words("of de von van du la di da del der")
_QUOTES = frozenset(['"', "“", ".", ":"])
_MARKS = words("- – & 's .")
_MONTHS = words("January February April June July August September October November December")
_DAYS = words("Monday Tuesday Wednesday Thursday Friday Saturday Sunday")
_MOVES = words(
  "born died lived living lives raised moved moves travelled traveled returned based located"
  " situated headquartered resides resided settled arrived educated"
)
_INTO = words("in near to at")
# Types that are verbs or part of longer phrases where they stand before a name.
_NO_TITLE = words(
  "model state general major court star march single place port person man woman church force"
  " office play attack body group run cover score title final match hand work line end point"
  " mission"
)
_NO_EVENT = words("operation action service race match final show concert attack flood")
_NATURE = {"lake": "lake", "mount": "mountain", "river": "river"}  # first words of names of two
_SERIES = ([","], ["and"], [",", "and"], ["or"], ['"', ",", '"'], ['"', ",", "and", '"'])
_MOST = 3  # words of a place or of a person who is known by the first name
Stretch = tuple[int, int]  # words


class Typed(NamedTuple):
  """A name, `text[start:end]`, its types with the most special first, and how they were found."""

  start: int
  end: int
  labels: tuple[str, ...]
  source: str


class Found(NamedTuple):
  """The names of a sentence that have types, and the characters of those without known types."""

  typed: list[Typed]
  unknown: list[tuple[int, int]]


class Namer:
  """Rules that find names and their types.

  `known` are names that other sentences give types, and those without types may have any.
  """

  def __init__(self, types: PageTypes, known: Mapping[str, tuple[str, ...]] | None = None):
    self.types, self.known = types, known or {}
    lower = {name: labels for name, labels in self.known.items() if name.islower()}
    self.common = dict.fromkeys(types.common, ()) | lower
    self.common_firsts = {name.split()[0] for name in self.common}
    self.listed = {_plural(x): x for x in types.heads if "person" not in kinds_of(x)}
    self.plurals = {_plural(noun): noun for noun in types.nouns if kinds_of(noun)}

  def names_in(self, sentence: ExportedSentence) -> Found:
    """Returns the names of a sentence."""
    return _Reading(self, sentence).found()

  def noun(self, word: str) -> bool:
    """Returns whether a word is a type that is not of persons, so that it says what a name is."""
    kinds = kinds_of(word)
    return word in self.types.nouns and bool(kinds) and "person" not in kinds


class _Reading:
  """The reading of one sentence: its words, and which of them belong to a name already."""

  def __init__(self, namer: Namer, sentence: ExportedSentence):
    self.namer, self.types, self.sentence = namer, namer.types, sentence
    self.bounds = [match.span() for match in _WORD.finditer(sentence.text)]
    self.words = [sentence.text[start:end] for start, end in self.bounds]
    self.taken = [False] * len(self.words)
    self.typed: dict[Stretch, tuple[tuple[str, ...], str]] = {}
    self.unknown: list[Stretch] = []

  def found(self) -> Found:
    """Returns the names, surer ones first taken."""
    self._links()
    self._events()
    runs = list(self._runs())
    for number, run in enumerate(runs):
      self._run(run, runs[number + 1 :])
    self._lists()
    self._common()
    typed = [Typed(*self._characters(x), *what) for x, what in sorted(self.typed.items())]
    return Found(typed, [self._characters(x) for x in self.unknown])

  def _characters(self, stretch: Stretch) -> tuple[int, int]:
    return self.bounds[stretch[0]][0], self.bounds[stretch[1] - 1][1]

  def _put(self, stretch: Stretch, labels: tuple[str, ...], source: str) -> None:
    if not any(self.taken[slice(*stretch)]):
      self.typed[stretch] = labels, source
      self._take(stretch)

  def _leave(self, stretch: Stretch) -> None:
    self.unknown.append(stretch)
    self._take(stretch)

  def _take(self, stretch: Stretch) -> None:
    self.taken[slice(*stretch)] = [True] * (stretch[1] - stretch[0])

  def _links(self) -> None:
    """Takes links and mentions, which mean pages with types."""
    first = {start: i for i, (start, _) in enumerate(self.bounds)}
    last = {end: i + 1 for i, (_, end) in enumerate(self.bounds)}
    for link in self.sentence.links:
      if link.start in first and link.end in last:
        stretch = first[link.start], last[link.end]
        if labels := self.types.labels.get(link.target):
          self._put(stretch, with_kinds(labels), link.source)
        elif not any(self.taken[slice(*stretch)]):
          self._leave(stretch)

  def _events(self) -> None:
    """Takes what begins with a year, as the 1997 general election."""
    for start, word in enumerate(self.words):
      if not (len(word) == 4 and word.isdecimal() and word[0] in "12"):
        continue
      for end in range(start + 2, min(len(self.words), start + 5) + 1):
        last = self.words[end - 1].lower()
        if not last[:1].isalpha() or last in SMALL:
          break
        noun = last if last in self.types.nouns else self.namer.plurals.get(last, last)
        if noun in self.types.nouns and "event" in kinds_of(noun) and noun not in _NO_EVENT:
          self._put((start, end), self._with_phrase(end - 1, noun, "event"), "year")
          break

  def _with_phrase(self, place: int, noun: str, *kinds: str) -> tuple[str, ...]:
    """Returns the labels of a noun, and of it with the word before it if pages have that type."""
    phrase = f"{self.words[place - 1].lower()} {noun}" if place else ""
    labels = ((phrase,) if phrase in self.types.phrases else ()) + (noun,)
    names = tuple(name for kind in kinds for name in NAMES[kind])
    return tuple(dict.fromkeys((*labels, *names))) if kinds else with_kinds(labels)

  def _capital(self, place: int) -> bool:
    return place < len(self.words) and self.words[place][:1].isupper()

  def _runs(self) -> Iterator[Stretch]:
    """Yields runs of words that begin with capitals, with what joins them."""
    words, start = self.words, 0
    while start < len(words):
      if not self._capital(start):
        start += 1
        continue
      end = start + 1
      while step := self._step(end):
        end += step
      while words[end - 1] in _MARKS:
        end -= 1
      yield start, end
      start = end

  def _step(self, end: int) -> int:
    """Returns how many words go on with a run that has come to `end`; 0 for none."""
    if end >= len(self.words):
      return 0
    word = self.words[end]
    if self._capital(end) or (word.isdecimal() and len(word) < 4):
      return 1
    if word in _MARKS and self._capital(end + 1):
      return int(word != "." or len(self.words[end - 1]) == 1)
    if word in _JOINS:
      if self._capital(end + 1):
        return 2
      return 3 * (self.words[end + 1 : end + 2] == ["the"] and self._capital(end + 2))
    return 0

  def _run(self, run: Stretch, rest: Sequence[Stretch]) -> None:
    """Takes a run as a name with types, or as one without."""
    start, end = run
    if start == 0 or self.words[start - 1] in _QUOTES:
      start += self.words[start].lower() in SMALL  # a sentence's first word says nothing
    if start >= end:
      return
    if any(self.taken[start:end]):
      for place in range(start, end):
        if not self.taken[place] and self._capital(place):
          self._leave((place, place + 1))
      return
    labels, source = self._types((start, end), rest)
    if not labels:
      self._leave((start, end))
    elif source != "series":
      self._put((start, end), labels, source)

  def _types(self, run: Stretch, rest: Sequence[Stretch]) -> tuple[tuple[str, ...], str]:
    """Returns the types of a run and how they were found; a series takes its names itself."""
    for rule in (self._by_own_words, self._by_title, self._by_first_name, self._by_series):
      labels, source = rule(run, rest)
      if labels:
        return labels, source
    return self._by_place(run, rest)

  def _by_own_words(self, run: Stretch, rest: Sequence[Stretch]) -> tuple[tuple[str, ...], str]:
    """Returns the types that the name's last word gives, or its first one, and the rule's name."""
    (start, end), noun = run, self.namer.noun
    first, last = self.words[start].lower(), self.words[end - 1].lower()
    if end - start > 1 and noun(last):
      return self._with_phrase(end - 1, last), "last-word"
    if end - start > 2 and self.words[start + 1] == "of" and noun(first):
      return with_kinds([first]), "first-word"
    if end - start == 2 and first in _NATURE:
      return with_kinds([_NATURE[first]]), "first-word"
    return (), ""

  def _by_title(self, run: Stretch, rest: Sequence[Stretch]) -> tuple[tuple[str, ...], str]:
    """Returns the types of a title before the name: the guitarist Jimi Hendrix."""
    start, end = run
    word = self.words[start - 1] if start else ""
    is_title = word in self.types.nouns and kinds_of(word) and word not in _NO_TITLE
    if is_title and self.words[end - 1].lower() not in self.types.nouns:
      return self._with_phrase(start - 1, word), "title"
    return (), ""

  def _by_first_name(self, run: Stretch, rest: Sequence[Stretch]) -> tuple[tuple[str, ...], str]:
    names = self.words[slice(*run)]
    first = 1 < len(names) <= _MOST and names[0] in self.types.first_names
    if first and all(x.isalpha() and x[:1].isupper() for x in names):
      return NAMES["person"], "first-name"
    known = self.namer.known.get(" ".join(names))
    return (known, "known") if known else ((), "")

  def _by_series(self, run: Stretch, rest: Sequence[Stretch]) -> tuple[tuple[str, ...], str]:
    """Returns the types of a series of names, and takes them: countries such as Chad and Niger."""
    start, end = run
    before = self.words[max(0, start - 3) : start]
    if before[-2:] == ["such", "as"]:
      noun = self.namer.plurals.get(before[0]) if len(before) == 3 else None
    elif before[-1:] in (["including"], ["like"]):
      words = [word for word in before[:-1] if word != ","]
      noun = self.namer.plurals.get(words[-1]) if words else None
    else:
      return (), ""
    if noun is None or self.words[end - 1].lower() in self.types.nouns:
      return (), ""
    labels = with_kinds([noun])
    self._put(run, labels, "series")
    for more in rest:
      if self.words[end : more[0]] not in _SERIES:
        break
      self._put(more, labels, "series")
      end = more[1]
    return labels, "series"

  def _by_place(self, run: Stretch, rest: Sequence[Stretch]) -> tuple[tuple[str, ...], str]:
    """Returns the types of a place that one moved to or was born in, of a date, or an adjective."""
    start, end = run
    word, after = self.words[start], self.words[end : end + 1]
    before = self.words[max(0, start - 2) : start]
    if end - start == 1 and word in _MONTHS | _DAYS:
      return (("month", "date") if word in _MONTHS else ("day of the week", "date")), "date"
    before_noun = bool(after) and after[0].islower() and after[0].isalpha()
    if end - start == 1 and word in self.types.adjectives and before_noun:
      return ("nationality",), "adjective"
    moved = len(before) == 2 and before[0] in _MOVES and before[1] in _INTO
    if moved and end - start <= _MOST and self.words[end - 1].lower() not in self.types.nouns:
      if after == [","] and rest and rest[0][0] == end + 1 and rest[0][1] - rest[0][0] <= _MOST:
        self._put(rest[0], NAMES["location"], "place")
      return NAMES["location"], "place"
    return (), ""

  def _lists(self) -> None:
    """Takes what is listed as examples of a type."""
    for place, noun, items in listings(self.words, self.namer.listed):
      for item in items:
        self._put(item, self._with_phrase(place, noun), "list")

  def _common(self) -> None:
    """Takes words without capitals that lists give a type, and leaves what may have any label.

    That are words which lists give several types, and titles that are no names, such as rock music.
    """
    lower = [word.lower() for word in self.words]
    for start, word in enumerate(lower):
      if word not in self.namer.common_firsts:
        continue
      for end in range(min(len(lower), start + 3), start, -1):
        labels = self.namer.common.get(" ".join(lower[start:end]))
        if labels is None or any(self.taken[start:end]):
          continue
        if labels:
          self._put((start, end), labels, "known")
        else:
          self._leave((start, end))


def _plural(noun: str) -> str:
  if noun.endswith("y") and noun[-2:-1] not in tuple("aeiou"):
    return f"{noun[:-1]}ies"
  return noun + ("es" if noun.endswith(("s", "x", "ch", "sh")) else "s")
