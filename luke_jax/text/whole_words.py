"""Vocabularies of whole words, with what stands beside the id of each word.

A word that the vocabulary lacks is the unknown one, but has its characters and the bigram that it
begins. `words.json` has the three vocabularies, in the order of their ids.
"""

import dataclasses
import functools
import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from luke_jax.errors import InputError
from luke_jax.files import Path, read_json_object, write_json_in_place
from luke_jax.text.tokenizer import (
  BERT,
  ROLE_KEYS,
  SpecialTokens,
  Tokenizer,
  Tokens,
  read_special_tokens,
)

WORDS_FILE = "words.json"
CHARACTERS, BIGRAMS = "character_ids", "bigram_ids"  # the arrays beside words
LONGEST_WORD = 30  # characters of a word that are read, from its first
END = "\n"  # follows the last word in its bigram; no word has it
# The first words of every vocabulary. Characters and bigrams begin with padding and unknown.
SPECIAL = (BERT.pad, BERT.unknown, BERT.start, BERT.end, BERT.mask)
PLAIN = SPECIAL[:2]
UNKNOWN = PLAIN.index(BERT.unknown)
_WORD = re.compile(r"\S+")
_DIGIT = re.compile(r"\d")


@dataclasses.dataclass(frozen=True)
class Vocabularies:
  """Words, characters and bigrams in the order of their ids; the latter two may be empty."""

  words: tuple[str, ...]
  characters: tuple[str, ...] = ()
  bigrams: tuple[str, ...] = ()
  digits_as_zero: bool = False  # every digit of a word is read as 0

  def __post_init__(self) -> None:
    for name, first in (("words", SPECIAL), ("characters", PLAIN), ("bigrams", PLAIN)):
      entries = getattr(self, name)
      if len(set(entries)) < len(entries):
        raise InputError(f"{name}: an entry twice; expected each once")
      if (entries or name == "words") and entries[: len(first)] != first:
        raise InputError(f"{name}: begin otherwise; expected {', '.join(first)} first")
    if not isinstance(self.digits_as_zero, bool):
      raise InputError(f"digits_as_zero: {self.digits_as_zero!r}; expected true or false")

  def spelt(self, word: str) -> str:
    """Returns a word as the vocabulary of words spells it."""
    return _DIGIT.sub("0", word) if self.digits_as_zero else word


class WholeWordTokenizer(Tokenizer):
  """Words between white space <-> ids; a word that is missing may be there in lower case."""

  whole_words = True

  def __init__(self, vocabularies: Vocabularies, special: SpecialTokens | None = None):
    self.vocabularies = vocabularies
    ids = {word: id for id, word in enumerate(SPECIAL)}
    self.special = special or SpecialTokens(ids, (), BERT)
    self.vocab_size = 1 + max(len(vocabularies.words) - 1, *self.special.ids.values())

  @property
  def sizes(self) -> dict[str, int]:
    """Returns the number of ids of each kind, by its field in a model's config."""
    tables = self.vocabularies
    characters, bigrams = len(tables.characters), len(tables.bigrams)
    words = {"vocab_size": self.vocab_size}
    return words | {"character_vocab_size": characters, "bigram_vocab_size": bigrams}

  @functools.cached_property
  def _words(self) -> dict[str, int]:
    return {word: id for id, word in enumerate(self.vocabularies.words)}

  @functools.cached_property
  def _characters(self) -> dict[str, int]:
    return {character: id for id, character in enumerate(self.vocabularies.characters)}

  @functools.cached_property
  def _bigrams(self) -> dict[str, int]:
    return {bigram: id for id, bigram in enumerate(self.vocabularies.bigrams)}

  def encode(self, texts: Sequence[str], *, offsets: bool = False) -> list[Tokens]:
    """Returns the words of each text, with their character offsets on request."""
    return self.special.encode(texts, self._encode_plain, offsets)

  def _encode_plain(self, texts: Sequence[str], offsets: bool) -> list[Tokens]:
    matches = [list(_WORD.finditer(text)) for text in texts]
    return [
      Tokens([self._id(word.group()) for word in words], [word.span() for word in words])
      if offsets
      else Tokens([self._id(word.group()) for word in words])
      for words in matches
    ]

  def _id(self, word: str) -> int:
    spelt = self.vocabularies.spelt(word)
    id = self._words.get(spelt)
    return self._words.get(spelt.lower(), self.special.unknown) if id is None else id

  def beside(self, words: Sequence[str]) -> dict[str, np.ndarray]:
    """Returns the arrays beside the words of a row and its two ends, which have none.

    These are the ids of characters (W, `LONGEST_WORD`) and of bigrams (W,), each of a word and the
    next one, where the vocabularies have any.
    """
    arrays: dict[str, np.ndarray] = {}
    if self._characters:
      spelt = [self.vocabularies.spelt(word)[:LONGEST_WORD] for word in words]
      lengths = np.array([0, *map(len, spelt), 0])
      arrays[CHARACTERS] = np.zeros((len(lengths), LONGEST_WORD), np.int32)
      ids = [self._characters.get(character, UNKNOWN) for character in "".join(spelt)]
      arrays[CHARACTERS][np.arange(LONGEST_WORD) < lengths[:, None]] = ids
    if self._bigrams:
      pairs = map("".join, zip(words, [*words[1:], END], strict=True))
      ids = [self._bigrams.get(pair, UNKNOWN) for pair in pairs]
      arrays[BIGRAMS] = np.array([0, *ids, 0], np.int32)
    return arrays

  def decode(self, ids: Iterable[int]) -> str:
    """Returns the text of ids, special tokens too, with a space between words."""
    words = self.vocabularies.words
    return " ".join(self.special.names.get(int(id)) or words[int(id)] for id in ids)

  def piece_id(self, piece: str) -> int:
    """Returns the id of a word as the vocabulary spells it, or of the unknown one."""
    return self.special.ids.get(piece, self._words.get(piece, self.special.unknown))

  def with_words(self, words: Iterable[str]) -> "WholeWordTokenizer":
    """Returns a tokenizer that also knows these words, each of which is one token."""
    return WholeWordTokenizer(self.vocabularies, self.special.with_words(words, self.vocab_size))

  def word_starts(self, *, as_spelt: bool = False) -> np.ndarray:
    """Returns true for every id, since each is a word."""
    return np.ones(self.vocab_size, bool)

  def hub_settings(self) -> dict[str, object]:
    """Returns the entries of tokenizer_config.json, for which transformers has no class."""
    names = dict(zip(ROLE_KEYS, self.special.roles, strict=True))
    return {"tokenizer_class": "WholeWordTokenizer", **names}

  def save_vocab(self, directory: Path) -> None:
    """Writes words.json."""
    write_json_in_place(directory / WORDS_FILE, dataclasses.asdict(self.vocabularies))


def load_whole_words(directory: Path) -> WholeWordTokenizer:
  """Reads words.json, and the words that were added to it."""
  path, names = directory / WORDS_FILE, [x.name for x in dataclasses.fields(Vocabularies)]
  expected = f"the vocabularies {', '.join(names)}"
  value = read_json_object(path, expected)
  if not {"words"} <= set(value) <= set(names):
    raise InputError(f"{path}: {', '.join(value)}; expected {expected}")
  lists: dict[str, Any] = {name: x for name, x in value.items() if name != "digits_as_zero"}
  for name, entries in lists.items():
    if not isinstance(entries, list) or not all(isinstance(entry, str) for entry in entries):
      raise InputError(f"{path}: {name}: no list of strings; expected one")
  try:
    entries: dict[str, Any] = value | {name: tuple(x) for name, x in lists.items()}
    vocabularies = Vocabularies(**entries)
  except InputError as fault:
    raise InputError(f"{path}: {fault}") from None
  base = {word: id for id, word in enumerate(SPECIAL)}
  size = len(vocabularies.words)
  return WholeWordTokenizer(
    vocabularies, read_special_tokens(directory, base, size, (), roles=BERT)
  )
