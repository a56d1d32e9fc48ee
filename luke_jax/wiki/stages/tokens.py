"""Names of entities as tokens, and the form of tokens for comparison.

A token is a word; in scripts without spaces between words, a character with its marks; or any other
character. The end of a line is a token too, so no name continues in the next line. Tokens are
compared in lower case and without the accents of Latin, Greek and Cyrillic letters; marks of other
scripts stay, because they are letters there.
"""

import functools
import hashlib
import re
import unicodedata
from collections.abc import Iterable

import numpy as np

from luke_jax.wiki.read.normal_form import normalized_form

LINE_END = "\n"
_KNOWN = 2**19  # tokens whose hashes a process has in memory

# Thai, Lao, Burmese, Khmer, Tai, kana, and the characters of Chinese.
_SPACELESS = (
  "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u1950-\u19df\u1a20-\u1aaf\u3005-\u3007\u3040-\u30ff"
  "\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
_MARK_BLOCKS = (range(0x300, 0x3100), range(0xA600, 0xFE30), range(0x10000, 0x1EA00))
_JOINERS = "\u200c\u200d"
_ACCENTS = re.compile("[\u0300-\u036f]")


def _token() -> re.Pattern:
  codes = (code for block in _MARK_BLOCKS for code in block)
  marks = "".join(char for char in map(chr, codes) if unicodedata.category(char)[0] == "M")
  mark, letter = f"[{marks}{_JOINERS}]", f"[^\\W_{_SPACELESS}]"
  # Only for speed: most words are ASCII, and `re` is slow with large classes of other characters.
  ascii_word = "[A-Za-z0-9]++(?![^\x00-\x7f])"
  word = f"(?:[A-Za-z0-9]++|{letter})(?:{letter}++|{mark}++)*+"
  return re.compile(f"{ascii_word}|{word}|[{_SPACELESS}]{mark}*+|\\S|\n")


TOKEN = _token()
SPACELESS = re.compile(f"[{_SPACELESS}]")


def name_of(text: str, max_tokens: int) -> str | None:
  """Returns the name that a text spells: its tokens in their form for comparison, joined by spaces.

  None for a text without tokens, with more than `max_tokens`, or with the end of a line.
  """
  tokens = TOKEN.findall(text)
  if not 0 < len(tokens) <= max_tokens or LINE_END in tokens:
    return None
  return " ".join(map(folded_token, tokens))


@functools.lru_cache(_KNOWN)
def folded_token(token: str) -> str:
  """Returns a token in its form for comparison, in lower case and without accents."""
  lower = token.lower()
  if lower.isascii():
    return lower
  bare = _ACCENTS.sub("", normalized_form("NFD", lower))
  return normalized_form("NFC", bare) or lower


def token_hashes(tokens: Iterable[str]) -> np.ndarray:
  """Returns hashes of a text's tokens, uint64, the same for tokens with the same folded form."""
  return np.fromiter(map(_of_text.__getitem__, tokens), np.uint64)


def name_hashes(name: str) -> list[int]:
  """Returns the hashes of a name's tokens, the same as those of a text that spells it."""
  return [_hash(token) for token in name.split(" ")]


@functools.lru_cache(_KNOWN)
def _hash(token: str) -> int:
  data = token.encode(errors="surrogatepass")
  return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little")


class _Hashes(dict):
  """Token of a text -> hash, as fast as a dictionary for tokens that it has."""

  def __missing__(self, token: str) -> int:
    if len(self) >= _KNOWN:
      self.clear()
    self[token] = value = _hash(folded_token(token))
    return value


_of_text = _Hashes()
