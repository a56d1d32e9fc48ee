"""SentencePiece vocabularies of fairseq: XLM-R's, which mLUKE has too, and CamemBERT's."""

import base64
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.text.tokenizer import ROBERTA, Bounds, SpecialTokens, Tokenizer, Tokens

if TYPE_CHECKING:
  import sentencepiece

MODEL_FILE = "sentencepiece.bpe.model"
_OWN_FIRST = 3  # SentencePiece's <unk>, <s> and </s>
# fairseq's own special tokens and SentencePiece's are both there; these are the unused ones.
_UNUSED = tuple(f"{name}NOTUSED" for name in (ROBERTA.start, ROBERTA.end, ROBERTA.unknown))
# SentencePiece's own order, which XLM-R has not, and its types of pieces: unknown, control.
_ROBERTAS = ((ROBERTA.unknown, 2), (ROBERTA.start, 3), (ROBERTA.end, 3))
# Numbers of fields, in SentencePiece's sentencepiece_model.proto.
_PIECES, _NORMALIZER = 1, 3
_PIECE, _SCORE, _TYPE = 1, 2, 3
_NAME, _CHARACTERS = 1, 2
_NORMAL = 1  # the type of a piece of text


class Numbering(NamedTuple):
  """Ids of SentencePiece's pieces in fairseq: some first ones, then the pieces of text."""

  first: tuple[str, ...]  # the names of the first ids
  tokenizer_class: str  # of transformers

  @property
  def shift(self) -> int:
    """Returns by how much every piece moved up."""
    return len(self.first) - _OWN_FIRST

  def base(self, pieces: int) -> dict[str, int]:
    """Returns the special tokens of a vocabulary of so many pieces, the mask after them."""
    ids = {name: id for id, name in enumerate(self.first)}
    roles = {name: ids[name] for name in ROBERTA if name in ids}
    return roles | {ROBERTA.mask: pieces + self.shift} | ids


XLM_R = Numbering((ROBERTA.start, ROBERTA.pad, ROBERTA.end, ROBERTA.unknown), "XLMRobertaTokenizer")
CAMEMBERT = Numbering(
  (
    *(_UNUSED[0], ROBERTA.pad, _UNUSED[1], ROBERTA.unknown, _UNUSED[2]),
    *(ROBERTA.start, ROBERTA.end),
  ),
  "CamembertTokenizer",
)
NUMBERINGS = (XLM_R, CAMEMBERT)


class SentencePieceTokenizer(Tokenizer):
  """Strings <-> ids by SentencePiece, numbered as in XLM-R or CamemBERT."""

  def __init__(
    self,
    model: "sentencepiece.SentencePieceProcessor",
    special: SpecialTokens,
    numbering: Numbering = XLM_R,
  ):
    self._model = model
    self._pieces = len(model)
    self._numbering = numbering
    self.special = special
    self.vocab_size = 1 + max(special.ids.values())

  def decode(self, ids: Iterable[int]) -> str:
    """Returns the text of ids, special tokens included, without a space before the first word."""
    return self.special.decode(ids, self._decode_plain).removeprefix(" ")

  def piece_id(self, piece: str) -> int:
    """Returns the id of a piece as the vocabulary spells it, or of the unknown one."""
    if piece in self._numbering.first:
      return self._numbering.first.index(piece)
    return self._numbered([self._model.piece_to_id(piece)])[0]

  def with_words(self, words: Iterable[str]) -> "SentencePieceTokenizer":
    """Returns a tokenizer that also knows these words, each of which is one token."""
    special = self.special.with_words(words, self.vocab_size)
    return SentencePieceTokenizer(self._model, special, self._numbering)

  def word_starts(self, *, as_spelt: bool = False) -> None:
    """Returns None: pieces of Chinese or Japanese carry no mark of where a word starts."""

  def hub_settings(self) -> dict[str, object]:
    """Returns the entries of tokenizer_config.json by which transformers reads the files."""
    marked = self.special.markers and self._numbering == XLM_R
    return {"tokenizer_class": "MLukeTokenizer" if marked else self._numbering.tokenizer_class}

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
    shift = self._numbering.shift
    return [piece + shift if piece else self.special.unknown for piece in pieces]

  def _decode_plain(self, ids: list[int]) -> str:
    pieces = [id - self._numbering.shift for id in ids]
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


def is_unigram(settings: Mapping[str, object]) -> bool:
  """Returns whether the contents of a tokenizer.json have a vocabulary with probabilities."""
  model = settings.get("model")
  return isinstance(model, dict) and model.get("type") == "Unigram"


def is_of_fairseq(settings: Mapping[str, Any]) -> bool:
  """Returns whether the vocabulary of a tokenizer.json starts as fairseq's do."""
  vocab = settings["model"].get("vocab")
  first = vocab[0] if isinstance(vocab, list) and vocab else None
  name = first[0] if isinstance(first, list) and first else None
  return name not in ("<pad>", "[PAD]", "<unk>")


def serialized_model(settings: Mapping[str, Any], path: Path) -> tuple[bytes, Numbering]:
  """Returns the vocabulary of a tokenizer.json as bytes of a SentencePiece model, with its ids."""
  try:
    vocab = [(str(piece), float(score)) for piece, score in settings["model"]["vocab"]]
    characters = base64.b64decode(_characters(settings.get("normalizer")), validate=True)
  except (KeyError, TypeError, ValueError):
    raise InputError(
      f"{path}: vocabulary in an unknown form; expected pairs of a piece and its score, and"
      " normalization by a table of characters"
    ) from None
  names = tuple(piece for piece, _ in vocab)
  numbering = next((x for x in NUMBERINGS if names[: len(x.first)] == x.first), None)
  if numbering is None or names[-1] != ROBERTA.mask:
    raise InputError(
      f"{path}: vocabulary starts or ends otherwise; expected {', '.join(XLM_R.first)}, pieces, and"
      f" {ROBERTA.mask}, as XLM-R's"
    )
  pieces = vocab[len(numbering.first) : -1]
  entries = [(piece, 0.0, type) for piece, type in _ROBERTAS]
  entries += [(piece, score, _NORMAL) for piece, score in pieces]
  normalizer = _text(_NAME, b"of the file") + _text(_CHARACTERS, characters)
  return b"".join(_entries(entries)) + _text(_NORMALIZER, normalizer), numbering


def _characters(normalizer: Any) -> str:
  """Returns the table of characters that a normalizer, or one of several, replaces; "" if none."""
  if normalizer is None:
    return ""
  steps = normalizer["normalizers"] if normalizer["type"] == "Sequence" else [normalizer]
  tables = [step["precompiled_charsmap"] for step in steps if step["type"] == "Precompiled"]
  if len(tables) > 1:
    raise ValueError("two tables")
  return tables[0] if tables else ""


def _entries(entries: list[tuple[str, float, int]]) -> Iterator[bytes]:
  for piece, score, type in entries:
    content = _text(_PIECE, piece.encode()) + _key(_SCORE, 5) + struct.pack("<f", score)
    yield _text(_PIECES, content + _key(_TYPE, 0) + varint(type))


def _text(field: int, content: bytes) -> bytes:
  return _key(field, 2) + varint(len(content)) + content


def _key(field: int, kind: int) -> bytes:
  return varint(field << 3 | kind)


def varint(number: int) -> bytes:
  """Returns a number in groups of seven bits, the lowest first, as protocol buffers have it."""
  parts = bytearray()
  while number > 127:
    parts.append(number & 127 | 128)
    number >>= 7
  return bytes([*parts, number])


_VARINT, _BYTES, _FIXED = 0, 2, 5  # how a field's content is written


def message_fields(content: bytes) -> Iterator[tuple[int, Any]]:
  """Yields the numbers and contents of the fields of a message in a protocol buffer."""
  place = 0

  def whole_number() -> int:
    nonlocal place
    number = shift = 0
    while True:
      byte = content[place]
      place, number, shift = place + 1, number | (byte & 127) << shift, shift + 7
      if byte < 128:
        return number

  while place < len(content):
    key = whole_number()
    if key & 7 == _VARINT:
      yield key >> 3, whole_number()
      continue
    length = whole_number() if key & 7 == _BYTES else 4
    part = content[place : place + length]
    if key & 7 not in (_BYTES, _FIXED) or len(part) < length:
      raise ValueError("not a whole message")
    place += length
    yield key >> 3, part if key & 7 == _BYTES else struct.unpack("<f", part)[0]
