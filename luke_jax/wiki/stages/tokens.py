"""Names of entities as tokens, and a table on disk that finds all names in a long text at once.

A token is a word; in scripts without spaces between words, a character with its marks; or any other
character. The end of a line is a token too, so no name continues in the next line. Tokens are
compared in lower case and without the accents of Latin, Greek and Cyrillic letters; marks of other
scripts stay, because they are letters there.

Beside the names the table has the hashes of all their beginnings, token by token, in order. Every
token of a text starts an n-gram. In each round those that begin no name are dropped and the others
grow by a token, until none is left. NumPy does a round for all of them together.
"""

import functools
import re
import unicodedata
from array import array
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.files.copies import local
from luke_jax.wiki.read.titles import normalized_form
from luke_jax.wiki.stages.stored import ABSENT, StringTable, hash_of, save_array, write_string_table

_KEYS, _NAMES, _BUCKETS = "beginnings.npy", "beginning_names.npy", "beginning_buckets.npy"
_FACTOR = np.uint64(0x9E3779B97F4A7C15)  # odd, so a longer n-gram's hash loses no bit
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
  return hash_of(token.encode(errors="surrogatepass"))


class _Hashes(dict):
  """Token of a text -> hash, as fast as a dictionary for tokens that it has."""

  def __missing__(self, token: str) -> int:
    if len(self) >= _KNOWN:
      self.clear()
    self[token] = value = _hash(folded_token(token))
    return value


_of_text = _Hashes()


class Matches(NamedTuple):
  """Names in a text's tokens: where each starts, its number of tokens, its number in the table."""

  starts: np.ndarray
  lengths: np.ndarray
  names: np.ndarray


class Names:
  """A table of names by number, which also finds them in a text; opening it reads nothing."""

  def __init__(self, folder: Path):
    self.strings = StringTable(folder)
    try:
      self._keys, self._names, self._buckets = (
        np.asarray(np.load(local(folder / name), mmap_mode="r"))
        for name in (_KEYS, _NAMES, _BUCKETS)
      )
    except (OSError, ValueError) as fault:
      raise InputError(f"{folder}: {fault}; expected a table of names") from None
    self._shift = _shift(len(self._buckets) - 1)

  def __len__(self) -> int:
    return len(self.strings)

  def matches(self, tokens: np.ndarray) -> Matches:
    """Returns every name that starts at any of the tokens, of any length; `tokens` are hashes.

    Two names or n-grams with the same 64-bit hash would be taken for one another.
    """
    rounds = []
    starts, hashes, length = np.arange(len(tokens)), np.zeros(len(tokens), np.uint64), 0
    while len(starts):
      length += 1
      hashes = hashes * _FACTOR + tokens[starts + (length - 1)]
      places = self._places(hashes)
      begun = places != ABSENT
      starts, hashes = starts[begun], hashes[begun]
      names = self._names[places[begun]]
      is_name = names != ABSENT
      rounds.append((starts[is_name], np.full(np.count_nonzero(is_name), length), names[is_name]))
      inside = starts < len(tokens) - length
      starts, hashes = starts[inside], hashes[inside]
    if not rounds:
      return Matches(*np.zeros((3, 0), np.int64))
    return Matches(*map(np.concatenate, zip(*rounds, strict=True)))

  def _places(self, hashes: np.ndarray) -> np.ndarray:
    """Returns the position of each hash among the keys, -1 for hashes that are none of them."""
    buckets = hashes >> self._shift
    places, stops = self._buckets[buckets].astype(np.int64), self._buckets[buckets + np.uint64(1)]
    positions = np.full(len(hashes), ABSENT, np.int64)
    searched = np.flatnonzero(places < stops)
    while len(searched):
      here = places[searched]
      equal = self._keys[here] == hashes[searched]
      positions[searched[equal]] = here[equal]
      searched = searched[~equal]
      places[searched] += 1
      searched = searched[places[searched] < stops[searched]]
    return positions


def write_names(folder: Path, names: Iterable[str]) -> None:
  """Writes a table of different names in their order."""
  write_named(folder, ((name, name) for name in names))


def write_named(folder: Path, rows: Iterable[tuple[str, str]]) -> None:
  """Writes a table of different names in their order, each with the string to store for it."""
  tokens, ends = array("Q"), array("q", [0])

  def hashed() -> Iterator[str]:
    for name, string in rows:
      tokens.extend(name_hashes(name))
      ends.append(len(tokens))
      yield string

  write_string_table(folder, hashed())
  keys, values = _beginnings(np.frombuffer(tokens, np.uint64), np.frombuffer(ends, np.int64))
  buckets = max(len(keys), 2).bit_length() - 1  # one or two keys in each
  edges = np.arange(2**buckets, dtype=np.uint64) << _shift(2**buckets)
  starts = np.append(np.searchsorted(keys, edges), len(keys))
  save_array(folder / _KEYS, keys)
  save_array(folder / _NAMES, values)
  save_array(folder / _BUCKETS, starts.astype(np.uint32))


def _shift(buckets: int) -> np.uint64:
  return np.uint64(64 - (buckets.bit_length() - 1))


def _beginnings(tokens: np.ndarray, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
  """Returns the hashes of all beginnings of names in order, and the name each is, -1 for none."""
  keys, values = [np.zeros(0, np.uint64)], [np.zeros(0, np.int32)]
  lengths, numbers = np.diff(ends), np.arange(len(ends) - 1, dtype=np.int32)
  hashes, length = np.zeros(len(numbers), np.uint64), 0
  while len(numbers):
    hashes = hashes * _FACTOR + tokens[ends[numbers] + length]
    length += 1
    ended = lengths[numbers] == length
    different = np.unique(hashes)
    names = np.full(len(different), ABSENT, np.int32)
    names[np.searchsorted(different, hashes[ended])] = numbers[ended]
    keys.append(different)
    values.append(names)
    numbers, hashes = numbers[~ended], hashes[~ended]
  all_keys = np.concatenate(keys)
  order = np.argsort(all_keys, kind="stable")
  return all_keys[order], np.concatenate(values)[order]
