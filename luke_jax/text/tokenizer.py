"""The protocol of all tokenizers, for any vocabulary."""

import abc
from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np

from luke_jax.files import Path
from luke_jax.text.special_tokens import SpecialTokens, Tokens


class Tokenizer(Protocol):
  """Conversion of strings to word ids and back."""

  special: SpecialTokens
  vocab_size: int
  """One more than the highest id, special tokens and markers included."""
  whole_words: bool = False
  """True if each id is a word, which may have arrays `beside` it."""

  @property
  def sizes(self) -> dict[str, int]:
    """Returns the number of ids of each kind, by its field in a model's config, if it has kinds."""
    return {}

  @abc.abstractmethod
  def encode(self, texts: Sequence[str], *, offsets: bool = False) -> list[Tokens]:
    """Returns the tokens of each text, with their character offsets on request."""

  @abc.abstractmethod
  def decode(self, ids: Iterable[int]) -> str:
    """Returns the text of ids, special tokens included."""

  def units(self, text: str) -> list[str]:
    """Returns the pieces of a text as they are written, one for each id that `encode` gives."""
    (tokens,) = self.encode([text], offsets=True)
    return [text[start:end] for start, end in tokens.offsets or ()]

  def beside(self, words: Sequence[str]) -> dict[str, np.ndarray]:
    """Returns the arrays beside the words of a row and its two ends, which have none."""
    return {}

  @abc.abstractmethod
  def piece_id(self, piece: str) -> int:
    """Returns the id of a piece as the vocabulary spells it, or of the unknown one."""

  @abc.abstractmethod
  def with_words(self, words: Iterable[str]) -> "Tokenizer":
    """Returns a tokenizer that also knows these words, each of which is one token."""

  @abc.abstractmethod
  def word_starts(self, *, as_spelt: bool = False) -> np.ndarray | None:
    """Returns whether each piece starts a word, (ids,), as special tokens and punctuation do.

    `as_spelt` looks at the vocabulary's spelling of a piece, as the code of LUKE's authors does: in
    that of bytes a dash begins with a letter. The result is None if pieces do not show it, as
    SentencePiece's do not.
    """

  @abc.abstractmethod
  def hub_settings(self) -> dict[str, object]:
    """Returns the entries of tokenizer_config.json by which transformers reads the files."""

  @abc.abstractmethod
  def save_vocab(self, directory: Path) -> None:
    """Writes the files of the vocabulary, without the special tokens."""
