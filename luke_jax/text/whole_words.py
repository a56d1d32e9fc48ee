"""Vocabularies of whole words, with what stands beside the id of each word.

A word that the vocabulary lacks is the unknown one, but has its characters and the bigram that it
begins. `words.json` has the three vocabularies, in the order of their ids.
"""

import dataclasses
import functools
import re
from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from luke_jax.errors import InputError, at
from luke_jax.files import Path, read_json_object, write_json_in_place
from luke_jax.files.copies import local
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
  with at(path):
    entries: dict[str, Any] = value | {name: tuple(x) for name, x in lists.items()}
    vocabularies = Vocabularies(**entries)
  base = {word: id for id, word in enumerate(SPECIAL)}
  size = len(vocabularies.words)
  return WholeWordTokenizer(
    vocabularies, read_special_tokens(directory, base, size, (), roles=BERT)
  )


VECTORS = "word_vectors"  # an encoder's input of vectors, and a task's field for their folder
SENTENCES, ARRAY = "sentences.txt", "vectors.npy"
NONE = -1  # the row of a place without a vector


def read_word_vectors(path: Path, wanted: Container[str]) -> dict[str, np.ndarray]:
  """Returns the vectors of the wanted words in a text file of GloVe's or word2vec's form.

  A line is a word and its numbers; word2vec's first line has the numbers of words and of values. Of
  a word that stands twice the first vector counts.
  """
  vectors: dict[str, np.ndarray] = {}
  width = 0
  for number, line in _lines(path):
    parts = line.split(" ")
    if number == 1 and len(parts) == 2 and all(part.isdecimal() for part in parts):
      width = int(parts[1])
      continue
    width = width or len(parts) - 1
    # A few words of GloVe's largest file have spaces in them.
    word, *values = line.rsplit(" ", width)
    if width < 1 or len(values) != width:
      raise InputError(
        f"{path}: line {number}: {len(parts) - 1} numbers after a word; expected {max(width, 1)}"
      )
    if word in wanted and word not in vectors:
      place = f"{path}: line {number}"
      try:
        vector = np.array(values, np.float32)
      except ValueError:
        raise InputError(f"{place}: {' '.join(values)!r:.60}; expected numbers") from None
      if not np.isfinite(vector).all():
        raise InputError(f"{place}: a number that is not finite; expected finite ones")
      vectors[word] = vector
  if not width:
    raise InputError(f"{path}: empty; expected a word and its numbers on each line")
  return vectors


def _lines(path: Path) -> Iterator[tuple[int, str]]:
  """Yields the lines of a file that are not empty, numbered from 1."""
  try:
    with path.open(encoding="utf-8", newline="\n") as file:
      for number, line in enumerate(file, start=1):
        if line.strip():
          yield number, line.rstrip(" \r\n")
  except FileNotFoundError:
    raise InputError(f"{path}: no such file; expected vectors of words, in text") from None
  except UnicodeDecodeError:
    raise InputError(f"{path}: not UTF-8; expected vectors of words, in text") from None
  except OSError as fault:
    raise InputError(f"{path}: {fault.strerror}; expected vectors of words, in text") from None


@dataclasses.dataclass(frozen=True, eq=False)
class SentenceVectors:
  """Vectors of every word of known sentences, such as a language model computes them."""

  folder: Path
  first: dict[str, int]  # sentence -> the row of its first word
  table: np.ndarray  # (words, layers, K), on the disk

  @property
  def shape(self) -> tuple[int, ...]:
    """Returns the number of layers, and the width."""
    return self.table.shape[1:]

  def rows(self, words: Sequence[str], place: str) -> np.ndarray:
    """Returns the numbers of the words of a sentence; raises InputError for an unknown one."""
    sentence = " ".join(words)
    first = self.first.get(sentence)
    if first is None:
      raise InputError(
        f"{place}: no vectors of the sentence {sentence!r:.60} in {self.folder}; expected each"
        f" sentence in {SENTENCES}, its words with a space between"
      )
    return np.arange(first, first + len(words), dtype=np.int32)

  def __getitem__(self, rows: np.ndarray) -> np.ndarray:
    """Returns the vectors of rows (..., layers, K) in float32; zero for `NONE`."""
    vectors = np.asarray(self.table[np.maximum(rows, 0)], np.float32)
    return np.where((rows != NONE)[..., None, None], vectors, np.float32(0))

  def __reduce__(self) -> tuple[object, ...]:
    return read_sentence_vectors, (self.folder,)


def read_sentence_vectors(folder: str | Path) -> SentenceVectors:
  """Opens a folder of vectors: sentences, one a line, and an array of a row for each word.

  The array is (words, K), or (words, layers, K).
  """
  folder = Path(folder)
  first, total = {}, 0
  for _, line in _lines(folder / SENTENCES):
    first.setdefault(line, total)
    total += len(line.split(" "))
  path = folder / ARRAY
  try:
    table = np.load(local(path), mmap_mode="r", allow_pickle=False)
  except (ValueError, OSError, EOFError) as fault:
    raise InputError(f"{path}: {fault}; expected an array of NumPy") from None
  if table.ndim not in (2, 3) or len(table) != total or table.dtype.kind != "f":
    raise InputError(
      f"{path}: {table.dtype} of shape {table.shape}; expected floating point numbers"
      f" ({total}, width) or ({total}, layers, width), as {SENTENCES} has {total} words"
    )
  return SentenceVectors(folder, first, table if table.ndim == 3 else table[:, None])
