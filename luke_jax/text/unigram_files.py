"""SentencePiece models of vocabularies in a tokenizer.json: XLM-R's and CamemBERT's."""

import base64
import struct
from collections.abc import Iterator, Mapping
from typing import Any

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.text.sentence_piece import NUMBERINGS, XLM_R, Numbering
from luke_jax.text.special_tokens import ROBERTA

# SentencePiece's own order, which XLM-R has not, and its types of pieces: unknown, control.
_OWN_FIRST = ((ROBERTA.unknown, 2), (ROBERTA.start, 3), (ROBERTA.end, 3))
# Numbers of fields, in SentencePiece's sentencepiece_model.proto.
_PIECES, _NORMALIZER = 1, 3
_PIECE, _SCORE, _TYPE = 1, 2, 3
_NAME, _CHARACTERS = 1, 2
_NORMAL = 1  # the type of a piece of text


def is_unigram(whole: Mapping[str, Any]) -> bool:
  """Returns whether the contents of a tokenizer.json have a vocabulary with probabilities."""
  model = whole.get("model")
  return isinstance(model, dict) and model.get("type") == "Unigram"


def serialized_model(whole: Mapping[str, Any], path: Path) -> tuple[bytes, Numbering]:
  """Returns the vocabulary of a tokenizer.json as bytes of a SentencePiece model, with its ids."""
  try:
    vocab = [(str(piece), float(score)) for piece, score in whole["model"]["vocab"]]
    characters = base64.b64decode(_characters(whole.get("normalizer")), validate=True)
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
  entries = [(piece, 0.0, type) for piece, type in _OWN_FIRST]
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
    yield _text(_PIECES, content + _key(_TYPE, 0) + _varint(type))


def _text(field: int, content: bytes) -> bytes:
  return _key(field, 2) + _varint(len(content)) + content


def _key(field: int, kind: int) -> bytes:
  return _varint(field << 3 | kind)


def _varint(number: int) -> bytes:
  """Returns a number in groups of seven bits, the lowest first, as protocol buffers have it."""
  parts = bytearray()
  while number > 127:
    parts.append(number & 127 | 128)
    number >>= 7
  return bytes([*parts, number])
