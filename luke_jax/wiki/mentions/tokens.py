"""Names of entities as tokens, and when two names are the same.

A token is a word; of scripts without spaces between words, a character with its marks; or any other
character. The end of a line is one too, so no name goes on in the next line. Tokens are compared in
lower case and without the accents of Latin, Greek and Cyrillic letters; marks of other scripts
stay, for they are letters there.
"""

import functools
import hashlib
import re
import unicodedata
from collections.abc import Iterable

import numpy as np

LINE_END = "\n"
_KNOWN = 2**19  # tokens whose hashes a process remembers

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
  # Only for speed: most words are of ASCII alone, and the engine is slow at classes of much else.
  ascii_word = "[A-Za-z0-9]++(?![^\x00-\x7f])"
  word = f"(?:[A-Za-z0-9]++|{letter})(?:{letter}++|{mark}++)*+"
  return re.compile(f"{ascii_word}|{word}|[{_SPACELESS}]{mark}*+|\\S|\n")


TOKEN = _token()


def name_of(text: str, most: int) -> str | None:
  """The name that a text writes: its tokens as they are compared, with spaces between.

  None if it has none, more than `most`, or goes over the end of a line.
  """
  tokens = TOKEN.findall(text)
  if not 0 < len(tokens) <= most or LINE_END in tokens:
    return None
  return " ".join(map(compared, tokens))


@functools.lru_cache(_KNOWN)
def compared(token: str) -> str:
  """A token as it is compared with others."""
  lower = token.lower()
  if lower.isascii():
    return lower
  bare = _ACCENTS.sub("", unicodedata.normalize("NFD", lower))
  return unicodedata.normalize("NFC", bare) or lower


def token_hashes(tokens: Iterable[str]) -> np.ndarray:
  """Hashes of tokens of a text, uint64: equal where the tokens are compared as equal."""
  return np.fromiter(map(_of_text.__getitem__, tokens), np.uint64)


def name_hashes(name: str) -> list[int]:
  """The hashes of a name's tokens, the same as those of a text that writes it."""
  return [_hash(token) for token in name.split(" ")]


@functools.lru_cache(_KNOWN)
def _hash(token: str) -> int:
  data = token.encode(errors="surrogatepass")
  return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little")


class _Hashes(dict):
  """Token of a text -> hash, with nothing but a dictionary's own work for tokens that it knows."""

  def __missing__(self, token: str) -> int:
    if len(self) >= _KNOWN:
      self.clear()
    self[token] = value = _hash(compared(token))
    return value


_of_text = _Hashes()
