"""XLM-R's SentencePiece vocabulary, the words of mLUKE."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.text.special_tokens import Bounds, SpecialTokens, Tokens

if TYPE_CHECKING:
  import sentencepiece

MODEL_FILE = "sentencepiece.bpe.model"
# fairseq put <pad> among the first ids, so every piece moved up by one.
FAIRSEQ_SHIFT = 1


class SentencePieceTokenizer:
  """Strings <-> ids by SentencePiece, numbered as in XLM-R."""

  def __init__(self, model: "sentencepiece.SentencePieceProcessor", special: SpecialTokens):
    self._model = model
    self._pieces = len(model)
    self.special = special
    self.vocab_size = 1 + max(special.ids.values())

  def encode(self, texts: Sequence[str], *, offsets: bool = False) -> list[Tokens]:
    """Returns the tokens of each text, with their character offsets on request."""
    return self.special.encode(texts, self._encode_plain, offsets)

  def decode(self, ids: Iterable[int]) -> str:
    """Returns the text of ids, special tokens included, without a space before the first word."""
    return self.special.decode(ids, self._decode_plain).removeprefix(" ")

  def piece_id(self, piece: str) -> int:
    """Returns the id of a piece as the vocabulary spells it, or of the unknown one."""
    return self._numbered([self._model.piece_to_id(piece)])[0]

  def with_words(self, words: Iterable[str]) -> "SentencePieceTokenizer":
    """Returns a tokenizer that also knows these words, each of which is one token."""
    return SentencePieceTokenizer(self._model, self.special.with_words(words, self.vocab_size))

  def word_starts(self, *, as_spelt: bool = False) -> None:
    """Returns None: pieces of Chinese or Japanese carry no mark of where a word starts."""

  def hub_settings(self) -> dict[str, Any]:
    """Returns the entries of tokenizer_config.json by which transformers reads the files."""
    return {"tokenizer_class": "MLukeTokenizer" if self.special.markers else "XLMRobertaTokenizer"}

  def save_vocab(self, directory: Path) -> None:
    """Writes sentencepiece.bpe.model."""
    (directory / MODEL_FILE).write_bytes(self._model.serialized_model_proto())

  def _encode_plain(self, texts: Sequence[str], offsets: bool) -> list[Tokens]:
    if not offsets:
      return [Tokens(self._numbered(row)) for row in self._model.encode(list(texts), num_threads=1)]
    # return_bytes: left to itself, sentencepiece 0.2.2 fails on an empty list.
    rows = self._model.encode(
      list(texts), return_type="offset_mapping", return_bytes=False, num_threads=1
    )
    return [
      Tokens(self._numbered(row["ids"]), _without_space(row, text))
      for row, text in zip(rows, texts, strict=True)
    ]

  def _numbered(self, pieces: list[int]) -> list[int]:
    return [piece + FAIRSEQ_SHIFT if piece else self.special.unknown for piece in pieces]

  def _decode_plain(self, ids: list[int]) -> str:
    pieces = [id - FAIRSEQ_SHIFT for id in ids]
    if min(pieces) < 0 or max(pieces) >= self._pieces:
      raise InputError(f"ids {ids}: expected ids from 0 to {self.vocab_size - 1}")
    return "".join(map(self._model.id_to_piece, pieces)).replace("▁", " ")


def _without_space(row: dict, text: str) -> list[Bounds]:
  spans = []
  for piece, (start, end) in zip(row["pieces"], row["offsets"], strict=True):
    word = text[start:end].lstrip()
    if word:
      start = end - len(word)
    elif piece.replace("▁", "").strip():  # of several pieces of one character only the last has it
      start, end = end, end + 1
    spans.append((start, end))
  return spans
