"""The protocol of all tokenizers, for any vocabulary."""

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

  def encode(self, texts: Sequence[str], *, offsets: bool = False) -> list[Tokens]:
    """Returns the tokens of each text, with their character offsets on request."""
    ...

  def decode(self, ids: Iterable[int]) -> str:
    """Returns the text of ids, special tokens included."""
    ...

  def piece_id(self, piece: str) -> int:
    """Returns the id of a piece as the vocabulary spells it, or of the unknown one."""
    ...

  def with_words(self, words: Iterable[str]) -> "Tokenizer":
    """Returns a tokenizer that also knows these words, each of which is one token."""
    ...

  def word_starts(self, *, as_spelt: bool = False) -> np.ndarray | None:
    """Returns whether each piece starts a word, (ids,), as special tokens and punctuation do.

    `as_spelt` looks at the vocabulary's spelling of a piece, as the code of LUKE's authors does: in
    that of bytes a dash begins with a letter. The result is None if pieces do not show it, as
    SentencePiece's do not.
    """
    ...

  def hub_settings(self) -> dict[str, object]:
    """Returns the entries of tokenizer_config.json by which transformers reads the files."""
    ...

  def save_vocab(self, directory: Path) -> None:
    """Writes the files of the vocabulary, without the special tokens."""
    ...
