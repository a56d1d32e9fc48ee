"""Pieces of text to word ids, fast: what stands between two spaces is looked up, not computed.

Neither kind of tokenizer lets a token cross a space, so the ids of a piece are those of its words
one after the other, and most words were met before.
"""

import copy
import itertools
import re
import struct
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence

from luke_jax.errors import InputError
from luke_jax.text import Tokenizer
from luke_jax.text.byte_level import ByteLevelTokenizer

WIDTH = 4  # bytes of an id
_ROOM = 64 * 2**20  # bytes that the words looked up may take, about
_LONGEST = 4096  # characters of a word that a tokenizer gets; what it takes may grow faster
_EDGE = "\n"  # before a piece, which has only spaces


class SegmentEncoder:
  """Pieces of text -> their ids.

  A piece that starts with a space starts a word; any other goes on with the one before it, and
  gets the ids it has inside of a word. Text that spells a special token stays text.
  """

  def __init__(self, tokenizer: Tokenizer):
    if isinstance(tokenizer, ByteLevelTokenizer):
      tokenizer = copy.copy(tokenizer)  # the caller's stays as it is
      tokenizer.add_prefix_space = False
      self._before, self._skipped = "", 0
      self._plain_ids = tokenizer.encode_words
    else:
      self._before, self._skipped = _known_alone(tokenizer), 2
      self._plain_ids = self._ids
    self._tokenizer = tokenizer
    self._special = re.compile("|".join(map(re.escape, tokenizer.special.ids)))
    self._known: dict[str, bytes] = {}  # words after a space; those after an edge go on with one
    self._taken = 0

  def encode(self, pieces: Sequence[str]) -> list[bytes]:
    """The ids of each piece as little-endian int32. Spaces are single ones, each before a word."""
    if self._taken > _ROOM:
      self._known.clear()
      self._taken = 0
    try:
      return self._looked_up(pieces)
    except KeyError:
      words = f" {_EDGE}".join(["", *pieces]).split(" ")[1:]
      self._learn(set(words).difference(self._known))
      return self._looked_up(pieces)

  def _looked_up(self, pieces: Sequence[str]) -> list[bytes]:
    known = self._known
    return [b"".join([known[word] for word in f"{_EDGE}{x}".split(" ")]) for x in pieces]

  def _learn(self, words: set[str]) -> None:
    new = sorted(words)  # the tokenizer's own cache must not depend on Python's hashes
    plain = [word for word in new if self._is_plain(word)]
    rest = sorted(words.difference(plain))
    rows = itertools.chain(self._plain_ids(plain), self._ids(rest))
    for word, ids in zip(plain + rest, rows, strict=True):
      data = struct.pack(f"<{len(ids)}i", *ids)
      self._known[word] = data
      self._taken += 200 + len(word) + len(data)

  def _is_plain(self, word: str) -> bool:
    """Whether a word follows a space, spells no special token and is not very long."""
    short = len(word) <= _LONGEST and word[:1] not in ("", _EDGE)
    return short and not self._special.search(word)

  def _ids(self, words: Sequence[str]) -> Iterator[list[int]]:
    """The ids of words, all of which go to the tokenizer at once."""
    parts = [self._plain(word.removeprefix(_EDGE)) for word in words]
    texts, skips = [], []
    for word, row in zip(words, parts, strict=True):
      for place, part in enumerate(row):
        starts_word = place == 0 and word[:1] != _EDGE
        texts.append(f" {part}" if starts_word else self._before + part)
        skips.append(0 if starts_word else self._skipped)
    encoded = self._tokenizer.encode(texts) if texts else []
    rows = (tokens.ids[skip:] for tokens, skip in zip(encoded, skips, strict=True))
    for row in parts:
      yield [id for _ in row for id in next(rows)]

  def _plain(self, word: str) -> list[str]:
    """The word in parts that spell no special token and are not very long; nothing in no parts."""
    cuts = {match.start() + 1 for match in self._special.finditer(word)}
    cuts |= {0, len(word), *range(0, len(word), _LONGEST)}
    return [word[i:j] for i, j in itertools.pairwise(sorted(cuts))]


def _known_alone(tokenizer: Tokenizer) -> str:
  """A character that is a piece of its own and in no other: put before a text it leaves its ids be.

  SentencePiece starts a word with every text that it is given; so two pieces stand before the rest.
  """
  special = tokenizer.special
  ids = (id for id in range(special.mask) if id not in special.names)
  pieces = [tokenizer.decode([id]) for id in ids]
  uses = Counter(character for piece in pieces for character in set(piece))
  for piece in pieces:
    alone = len(piece) == 1 and uses[piece] == 1 and _composes_with_nothing(piece)
    if alone and len(tokenizer.encode([piece])[0].ids) == 2:
      return piece
  raise InputError("the SentencePiece model: no character that is in one piece only; expected one")


def _composes_with_nothing(character: str) -> bool:
  """Whether no accent or sound mark after the character makes another one of the two."""
  category = unicodedata.category(character)
  return category[0] in "PN" or unicodedata.name(character, "").startswith("CJK UNIFIED")
