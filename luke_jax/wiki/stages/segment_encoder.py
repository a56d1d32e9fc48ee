"""Turns segments of text into word ids, fast: it looks words up that occurred before.

No token of any kind of tokenizer crosses a space, so the ids of a segment are those of its words
one after the other.
"""

import itertools
import re
import struct
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence

from luke_jax.errors import InputError
from luke_jax.text import Tokenizer
from luke_jax.text.byte_level import ByteLevelTokenizer
from luke_jax.text.sentence_piece import SentencePieceTokenizer

WIDTH = 4  # bytes of an id
_ROOM = 64 * 2**20  # bytes of memory for known words, approximately
_LONGEST = 4096  # characters at once for the tokenizer, whose time may grow faster than the text
_EDGE = "\n"  # marks the start of a segment, in which the only white space is spaces


class SegmentEncoder:
  """A map from segments of text to their ids.

  A segment that starts with a space starts a word. Any other continues the word before it, and gets
  the ids that it has inside of a word, or in WordPiece those of a word by itself. Text that spells
  a special token stays text.
  """

  def __init__(self, tokenizer: Tokenizer):
    if isinstance(tokenizer, ByteLevelTokenizer):
      tokenizer = tokenizer.with_prefix(False)
      self._before, self._skipped = "", 0
      self._plain_ids = tokenizer.encode_words
    elif isinstance(tokenizer, SentencePieceTokenizer):
      self._before, self._skipped = _known_alone(tokenizer), 2
      self._plain_ids = self._ids
    else:
      self._before, self._skipped = "", 0
      self._plain_ids = self._ids
    self._tokenizer = tokenizer
    self._special = re.compile("|".join(map(re.escape, tokenizer.special.ids)))
    self._known: dict[str, bytes] = {}  # words after a space, or with an edge after no space
    self._size = 0

  def encode(self, segments: Sequence[str]) -> list[bytes]:
    """Returns the ids of each segment as little-endian int32.

    The only white space in a segment is a single space before a word.
    """
    if self._size > _ROOM:
      self._known.clear()
      self._size = 0
    try:
      return self._looked_up(segments)
    except KeyError:
      words = f" {_EDGE}".join(["", *segments]).split(" ")[1:]
      self._learn(set(words).difference(self._known))
      return self._looked_up(segments)

  def _looked_up(self, segments: Sequence[str]) -> list[bytes]:
    cache = self._known
    return [b"".join([cache[word] for word in f"{_EDGE}{x}".split(" ")]) for x in segments]

  def _learn(self, words: set[str]) -> None:
    new = sorted(words)  # the tokenizer's own cache must not depend on Python's hashes
    plain = [word for word in new if self._is_plain(word)]
    rest = sorted(words.difference(plain))
    rows = itertools.chain(self._plain_ids(plain), self._ids(rest))
    for word, ids in zip(plain + rest, rows, strict=True):
      data = struct.pack(f"<{len(ids)}i", *ids)
      self._known[word] = data
      self._size += 200 + len(word) + len(data)

  def _is_plain(self, word: str) -> bool:
    """Returns whether a word follows a space, spells no special token and is not very long."""
    short = len(word) <= _LONGEST and word[:1] not in ("", _EDGE)
    return short and not self._special.search(word)

  def _ids(self, words: Sequence[str]) -> Iterator[list[int]]:
    """Yields the ids of words, all of which go to the tokenizer at once."""
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
    """Returns the word in parts that spell no special token and are not very long.

    An empty word has no parts.
    """
    cuts = {match.start() + 1 for match in self._special.finditer(word)}
    cuts |= {0, len(word), *range(0, len(word), _LONGEST)}
    return [word[i:j] for i, j in itertools.pairwise(sorted(cuts))]


def _known_alone(tokenizer: Tokenizer) -> str:
  """Returns a character that is one word piece and in no other.

  SentencePiece starts a word with every text that it gets. With this character before a text, the
  text is inside of a word, and its ids follow the two of the start of a word and the character.
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
  """Returns whether no accent or sound mark combines with the character."""
  category = unicodedata.category(character)
  return category[0] in "PN" or unicodedata.name(character, "").startswith("CJK UNIFIED")
