"""Things that a sentence lists as examples of a type, such as guitars of instruments.

They are mostly words without capitals, which no other rule gives a type.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from luke_jax.wiki.read.own_names import SMALL
from luke_jax.wiki.typed.kinds import words

# Words that end or begin no item, besides those that begin sentences.
_NO_ITEM = SMALL | words(
  "any several various less least own same has have had having do does did can could may might"
  " must will would should well etc via per along across around behind near towards toward using"
  " based used called known being just very much several than that which whose whom including"
  " became made became found said"
)
# Nouns that say little of what is listed, and a word that is no singular.
_VAGUE = words(
  "aspect reason thing case factor issue item feature topic area theme way matter element other"
  " group number part purpose role type form kind variety name time year member example piece"
  " detail point change problem effect result condition opportunity interest characteristic"
  " attribute trait component category concern consideration idea question goal concept property"
  " word term figure object source process section line state order place set activity function"
  " service action event application artwork shell solution partner pack decision assumption prop"
  " specie"
)
_LONGEST = 3  # words of an item
_ENDS = frozenset(".,;:)")


class Listing(NamedTuple):
  """The place of a noun, the noun in the singular, and the words of each thing that is listed."""

  place: int
  noun: str
  items: tuple[tuple[int, int], ...]


def listings(words: Sequence[str], nouns: Mapping[str, str]) -> Iterator[Listing]:
  """Yields what the words of a sentence list of `nouns`, which are given by their plurals."""
  for place, word in enumerate(words):
    noun = nouns.get(word)
    if noun is None or noun in _VAGUE:
      continue
    after = place + 1 + (words[place + 1 : place + 2] == [","])
    if words[after : after + 2] == ["such", "as"]:
      items = _items(words, after + 2)
    elif words[after : after + 1] == ["including"]:
      items = _items(words, after + 1)
    elif place > 2 and words[place - 1] == "other" and words[place - 2] in ("and", "or"):
      items = _item_before(words, place - 2)
    else:
      continue
    if items:
      yield Listing(place, noun, items)


def _items(words: Sequence[str], start: int) -> tuple[tuple[int, int], ...]:
  """Returns the items of a list that begins at `start`, up to the first that may not be one."""
  items = []
  while (end := _end(words, start)) > start:
    after = end + (words[end : end + 1] == [","])
    after += after < len(words) and words[after] in ("and", "or")
    if end - start <= _LONGEST and (end == len(words) or words[end] in _ENDS or after > end):
      items.append((start, end))
    if after == end or end - start > _LONGEST:
      break
    start = after
  return tuple(items)


def _item_before(words: Sequence[str], end: int) -> tuple[tuple[int, int], ...]:
  """Returns the item that ends before "and other", if it is known where it begins."""
  end -= words[end - 1] == ","
  start = end
  while start and end - start <= _LONGEST and _of_item(words[start - 1]):
    start -= 1
  known = start and words[start - 1] in (",", "and", "or")
  return ((start, end),) if known and 0 < end - start <= _LONGEST else ()


def _end(words: Sequence[str], start: int) -> int:
  end = start
  while end < len(words) and _of_item(words[end]):
    end += 1
    if words[end : end + 1] == ["-"] and end + 1 < len(words) and _of_item(words[end + 1]):
      end += 2
  return end


def _of_item(word: str) -> bool:
  return word[:1].isalpha() and word.islower() and word not in _NO_ITEM
