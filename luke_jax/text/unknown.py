"""Counts of the words that a vocabulary lacks, for a warning."""

import dataclasses
import warnings
from collections import Counter
from collections.abc import Sequence
from typing import Any

from luke_jax.text.processor import Processor
from luke_jax.text.tokenizer import Tokenizer, Tokens

_SHARE = 0.01  # of the pieces, above which a file is worth a warning
_NAMED = 10


class CountingTokenizer:
  """A tokenizer that counts its pieces, and the stretches of texts that it does not know."""

  def __init__(self, tokenizer: Tokenizer):
    self._tokenizer = tokenizer
    self.special = tokenizer.special
    self.vocab_size = tokenizer.vocab_size
    self.pieces = 0
    self.unknown: Counter[str] = Counter()

  def __getattr__(self, name: str) -> Any:
    return getattr(self._tokenizer, name)

  def encode(self, texts: Sequence[str], *, offsets: bool = False) -> list[Tokens]:
    """Returns the tokens of each text, with their character offsets on request."""
    rows = self._tokenizer.encode(texts, offsets=offsets)
    id = self._tokenizer.special.unknown
    self.pieces += sum(len(row.ids) for row in rows)
    odd = [text for text, row in zip(texts, rows, strict=True) if id in row.ids]
    for text, row in zip(
      odd, self._tokenizer.encode(odd, offsets=True) if odd else (), strict=True
    ):
      places = zip(row.ids, row.offsets or (), strict=True)
      self.unknown.update(text[start:end] for piece, (start, end) in places if piece == id)
    return rows

  def warn(self, path: str) -> None:
    """Warns of a file of which more than a hundredth is unknown, with the most frequent of it."""
    count = self.unknown.total()
    if count <= _SHARE * self.pieces:
      return
    named = ", ".join(f"{text} ({n})" for text, n in self.unknown.most_common(_NAMED))
    warnings.warn(
      f"{path}: {count} of {self.pieces} pieces are {self.special.roles.unknown}, not in the"
      f" vocabulary: {named}",
      stacklevel=2,
    )


def counted(reads: Processor) -> tuple[Processor, CountingTokenizer]:
  """Returns a processor whose tokenizer counts what it does not know, and that tokenizer."""
  counting: Any = CountingTokenizer(reads.tokenizer)
  return dataclasses.replace(reads, tokenizer=counting), counting
