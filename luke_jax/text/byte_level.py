"""RoBERTa's byte-level BPE, the words of LUKE."""

import functools
import itertools
import string
import unicodedata
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.text.tokenizer import Bounds, PiecesOfLibrary, SpecialTokens, Tokens, shifted

if TYPE_CHECKING:
  import tokenizers

_SPACE = "Ġ"  # as byte-level BPE writes it


class ByteLevelTokenizer(PiecesOfLibrary):
  """Strings <-> ids by byte-level BPE: every string has ids, and they decode to it again.

  With `add_prefix_space` a text, and what follows a special token in it, is read as if a space were
  before it, unless one is. LUKE's tokenizer of transformers 4 adds it before `whole_texts` alone,
  and to none that begins with white space of any kind.
  """

  def __init__(
    self,
    model: "tokenizers.models.BPE",
    special: SpecialTokens,
    add_prefix_space: bool = False,
    *,
    whole_texts: bool = False,
  ):
    import tokenizers

    self._library = tokenizers.Tokenizer(model)
    self._library.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(
      add_prefix_space=add_prefix_space and not whole_texts
    )
    self._library.decoder = tokenizers.decoders.ByteLevel()
    self.special = special
    self.add_prefix_space, self.whole_texts = add_prefix_space, whole_texts
    self._pieces = self._library.get_vocab_size()  # read once: older tokenizers take milliseconds
    self.vocab_size = 1 + max(self._pieces - 1, *special.ids.values())

  def encode(self, texts: Sequence[str], *, offsets: bool = False) -> list[Tokens]:
    """Returns the tokens of each text, with their character offsets on request."""
    if not (self.add_prefix_space and self.whole_texts):
      return self.special.encode(texts, self._encode_plain, offsets)
    prefixed = [f" {text}" if text and not text[0].isspace() else text for text in texts]
    rows = self.special.encode(prefixed, self._encode_plain, offsets)
    return [
      shifted(row, len(text) - len(longer))
      for row, text, longer in zip(rows, texts, prefixed, strict=True)
    ]

  def with_prefix(
    self, add_prefix_space: bool, *, whole_texts: bool = False
  ) -> "ByteLevelTokenizer":
    """Returns the tokenizer that adds a space before texts, or none."""
    return ByteLevelTokenizer(
      self._library.model, self.special, add_prefix_space, whole_texts=whole_texts
    )

  def encode_words(self, words: Sequence[str]) -> list[list[int]]:
    """Returns the ids of words, each as after a space; special tokens in them are plain text.

    Words have no white space. They are tokenized as one text, in half the time of as many texts.
    """
    text = "".join([f" {word}" for word in words])
    (tokens,) = self._encode_plain([text], offsets=False)
    starts = np.flatnonzero(self._starts_word[tokens.ids])
    if len(starts) == len(words):
      return [tokens.ids[i:j] for i, j in itertools.pairwise([*starts.tolist(), None])]
    # A vocabulary without a space has no token that starts a word.
    return [tokens.ids for tokens in self._encode_plain([f" {word}" for word in words], False)]

  def decode(self, ids: Iterable[int]) -> str:
    """Returns the text of ids, special tokens included."""
    return self.special.decode(ids, self._decode_plain)

  def with_words(self, words: Iterable[str]) -> "ByteLevelTokenizer":
    """Returns a tokenizer that also knows these words, each of which is one token."""
    special = self.special.with_words(words, self.vocab_size)
    return ByteLevelTokenizer(
      self._library.model, special, self.add_prefix_space, whole_texts=self.whole_texts
    )

  def word_starts(self, *, as_spelt: bool = False) -> np.ndarray:
    """Returns whether each piece has a space before it or is punctuation or special, (ids,)."""
    starts = np.ones(self.vocab_size, bool)
    for id in set(range(self._pieces)) - self.special.names.keys():
      spelt = self._library.id_to_token(id) or ""
      starts[id] = not (
        _continues_as_spelt(spelt) if as_spelt else continues_word(self.decode([id]))
      )
    return starts

  def hub_settings(self) -> dict[str, object]:
    """Returns the entries of tokenizer_config.json by which transformers reads the files."""
    name = "LukeTokenizer" if self.special.markers else "RobertaTokenizer"
    return {"tokenizer_class": name, "add_prefix_space": self.add_prefix_space}

  def save_vocab(self, directory: Path) -> None:
    """Writes vocab.json and merges.txt."""
    self._library.model.save(str(directory))

  @functools.cached_property
  def _starts_word(self) -> np.ndarray:
    """Returns whether each id is of a token that starts with a space."""
    starts = np.zeros(self._pieces, bool)
    for token, id in self._library.get_vocab().items():
      starts[id] = token.startswith(_SPACE)
    return starts

  def _places(self, encoding: "tokenizers.Encoding", text: str) -> list[Bounds]:
    # A byte-level token takes at most the one space before its word with it.
    places = [
      (start + 1, end) if text[start] == " " and not text[start:end].isspace() else (start, end)
      for start, end in encoding.offsets
    ]
    prefixed = self.add_prefix_space and not self.whole_texts
    if prefixed and places and encoding.tokens[0] == _SPACE and text[0] != " ":
      places[0] = (0, 0)  # a prefix that no piece took with it
    return places

  def _decode_plain(self, ids: list[int]) -> str:
    if min(ids) < 0 or max(ids) >= self._pieces:
      raise InputError(f"ids {ids}: expected ids from 0 to {self.vocab_size - 1}")
    return self._library.decode(ids)


def continues_word(piece: str) -> bool:
  """Returns true for a piece of text that starts neither with white space nor punctuation."""
  first = piece[:1]
  punctuation = first in string.punctuation or unicodedata.category(first).startswith("P")
  return not first.isspace() and not punctuation


def _continues_as_spelt(piece: str) -> bool:
  return piece.startswith("##") or (not piece.startswith(_SPACE) and continues_word(piece))
