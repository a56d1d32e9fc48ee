"""The names that a text calls its own subject: the title, and short forms of it.

The rules are those of English Wikipedia's titles. What is particular to names in other scripts is
left out rather than guessed.
"""

import re
from typing import NamedTuple

from luke_jax.wiki.read.pages import Page

_QUALIFIER = re.compile(r" \([^()]*\)$")
_WORK = re.compile(
  r"\([^()]*\b(?:album|film|song|novel|novella|book|game|series|comics?|play|opera|musical|EP|single"
  r"|soundtrack|season|episode|magazine|manga|anime|show|mixtape|franchise|poem|painting|sculpture)\b[^()]*\)$"
)
_ACRONYM = re.compile(r"\(([A-Z][A-Za-z]{1,7})[);,]")
_CAPITAL = re.compile(r"\b[A-Z]")
_LIFE = re.compile(r"\bborn\b|\b[a-z]*\.? ?\d{3,4} ?[–-] ?[^()]{0,30}\d{3,4}\)|\bdied\b")
_PERSON = re.compile(r"\b(?:he|she|his|her|him)\b", re.IGNORECASE)
_WORD = re.compile(r"\w")
_NO_PERSON = re.compile(r"[:;–—!?/&]")


def _words(text: str) -> frozenset[str]:
  return frozenset(text.split())


_SHIPS = _words("USS HMS SMS SS MV RMS HMAS HMCS INS USNS MS MT USCGC HMNZS ORP MY FV")
_TITLES = _words("Sir Dame Lord Lady Saint St. King Queen Prince Princess Pope Dr.")
_SUFFIXES = _words("Jr. Jr Sr. Sr II III IV V VI VII VIII IX X XI XII XIII XIV XV XVI")
_PARTICLES = _words(
  "de del della der den di da do dos du van von la le el al bin ibn ben af av zu ter ten y e i"
)
# Words that begin sentences, so that as titles they say nothing; and words before and after names.
SMALL = _words(
  "a an the this that these those it its he she his her they their we our you your i my in on"
  " at by  for from with without to into of as is was are were be been and or but nor not no yes"
  " so if when  while where who what which why how after before during since until because"
  " although though also  then there here now once both all some many most more each every one"
  " two three first second last  other such only even still however both during under over"
  " between through against about upon among within despite unlike like later early"
  " today let up down out off again never always"
)

_CAPITALS = frozenset(word.capitalize() for word in SMALL)


class OwnNames(NamedTuple):
  """Names of a page on that page: those of its title, and shorter ones.

  An album or a film is often called as its band or its hero, so that its title means it only where
  it is `in_quotes`.
  """

  titles: tuple[str, ...]
  shorts: tuple[str, ...]
  in_quotes: bool = False


def base_title(title: str) -> str:
  """Returns a title without the parenthesis that tells it from others."""
  return _QUALIFIER.sub("", title)


def own_names(page: Page) -> OwnNames:
  """Returns the names by which a page's text may mean the page."""
  if page.disambiguation:  # no one thing has its name there
    return OwnNames((), ())
  base, sentence = base_title(page.title), page.facts.first_sentence or ""
  titles = [base] if base.casefold() not in SMALL and _WORD.search(base) else []
  lower = base[:1].lower() + base[1:]
  if titles and lower != base and f" {lower}" in sentence:
    titles.append(lower)  # a common noun: the black-necked grebe
  shorts = [name for name in _shorts(base, page) if name.casefold() not in SMALL]
  shorts = [name for name in dict.fromkeys(shorts) if name not in titles]
  return OwnNames(tuple(titles), tuple(shorts), bool(_WORK.search(page.title)))


def _shorts(base: str, page: Page) -> list[str]:
  sentence = page.facts.first_sentence or ""
  words = base.split(" ")
  place, comma, _ = base.partition(", ")
  if _is_person(base, page):
    return _surnames(base, page)
  shorts = []
  if comma and place[:1].isupper() and base.count(", ") == 1 and " and " not in base:
    shorts.append(place)
  if words[0] in _SHIPS and len(words) > 1 and words[1][:1].isupper():
    shorts.append(" ".join(words[1:]))
  if words[0] == "The" and len(words) > 2:
    shorts.append(" ".join(words[1:]))
  named = all(word[:1].isupper() or word in SMALL for word in words)
  if named and len(words) > 1 and (acronym := _ACRONYM.search(sentence[: len(base) + 60])):
    letters = re.sub("[a-z]", "", acronym[1])
    initials = "".join(_CAPITAL.findall(base))
    if len(letters) > 1 and letters == initials:
      shorts.append(acronym[1])
  return shorts


def _is_person(base: str, page: Page) -> bool:
  """Returns whether a title has the form of a person's name, and its text that of a life."""
  name = base.partition(", ")[0].split(" ")
  capital = sum(word[:1].isupper() for word in name)
  if not 2 <= capital <= 5 or any(x[:1].islower() and x not in _PARTICLES for x in name):
    return False
  if (
    name[0] in _CAPITALS
    or _NO_PERSON.search(base)
    or any(any(c.isdigit() for c in word) for word in name)
  ):
    return False
  sentence = page.facts.first_sentence or ""
  beginning = " ".join(x.text for x in page.paragraphs[:4])[:3000]
  lives = bool(_LIFE.search(sentence[:300]))
  return (lives and bool(_PERSON.search(beginning))) or len(_PERSON.findall(beginning)) >= 4


def _surnames(base: str, page: Page) -> list[str]:
  """Returns a person's last name, or the first one where the text only has that by itself."""
  words = [word for word in base.partition(", ")[0].split(" ") if word not in _SUFFIXES]
  while len(words) > 1 and words[0] in _TITLES:
    words = words[1:]
  if len(words) < 2:
    return []
  start = len(words) - 1
  while start > 1 and words[start - 1] in _PARTICLES:
    start -= 1
  last = " ".join(words[start:])
  rest = "\n".join(paragraph.text for paragraph in page.paragraphs)
  alone = [name for name in dict.fromkeys((last, words[-1])) if _stands_alone(name, words, rest)]
  if alone or not _stands_alone(words[0], words, rest, least=2):
    return [name for name in alone if len(name) > 1]
  return [words[0]] if len(words[0]) > 1 else []


def _stands_alone(name: str, words: list[str], text: str, least: int = 1) -> bool:
  """Returns whether a name is in a text more often than the whole name that has it."""
  pattern = rf"(?<![\w-]){re.escape(name)}(?![\w-])"
  occurrences = len(re.findall(rf"(?<!\w){re.escape(' '.join(words))}(?!\w)", text))
  return len(re.findall(pattern, text)) - occurrences >= least
