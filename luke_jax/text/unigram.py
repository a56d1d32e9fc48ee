"""DeBERTa's SentencePiece vocabularies: its own numbers of pieces, and BERT's special tokens."""

import json
import struct
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.files.copies import local
from luke_jax.text.sentence_piece import is_unigram
from luke_jax.text.tokenizer import (
  BERT,
  ROLE_KEYS,
  WHOLE,
  Bounds,
  SpecialTokens,
  Tokenizer,
  Tokens,
  added_tokens,
  read_special_tokens,
  tokenizer_config,
  whole_tokenizer,
)

if TYPE_CHECKING:
  import tokenizers

MODEL = "spm.model"
_SPACE = "▁"
# Numbers of fields, and the type of the unknown piece, in sentencepiece_model.proto.
_PIECE, _NORMALIZER, _UNKNOWN = 1, 3, 2
_VARINT, _BYTES, _FIXED = 0, 2, 5  # how a field's content is written


class UnigramTokenizer(Tokenizer):
  """Strings <-> ids by the most probable pieces, as a tokenizer.json describes them."""

  def __init__(self, library: "tokenizers.Tokenizer", special: SpecialTokens):
    self._library = library
    self.special = special
    self.vocab_size = 1 + max(library.get_vocab_size() - 1, *special.ids.values())

  def encode(self, texts: Sequence[str], *, offsets: bool = False) -> list[Tokens]:
    """Returns the tokens of each text, with their character offsets on request."""
    return self.special.encode(texts, self._encode_plain, offsets)

  def decode(self, ids: Iterable[int]) -> str:
    """Returns the text of ids, special tokens included, without a space before the first word."""
    return self.special.decode(ids, self._decode_plain).removeprefix(" ")

  def piece_id(self, piece: str) -> int:
    """Returns the id of a piece as the vocabulary spells it, or of the unknown one."""
    id = self._library.token_to_id(piece)
    return self.special.unknown if id is None else id

  def with_words(self, words: Iterable[str]) -> "UnigramTokenizer":
    """Returns a tokenizer that also knows these words, each of which is one token."""
    return UnigramTokenizer(self._library, self.special.with_words(words, self.vocab_size))

  def word_starts(self, *, as_spelt: bool = False) -> None:
    """Returns None: pieces of Chinese or Japanese carry no mark of where a word starts."""

  def hub_settings(self) -> dict[str, object]:
    """Returns the entries of tokenizer_config.json by which transformers reads the files."""
    names = dict(zip(ROLE_KEYS, self.special.roles, strict=True))
    return {"tokenizer_class": "DebertaV2Tokenizer", **names}

  def save_vocab(self, directory: Path) -> None:
    """Writes tokenizer.json, with the special tokens, which transformers 5 reads there alone."""
    import tokenizers

    whole = tokenizers.Tokenizer.from_str(self._library.to_str())
    ids = self.special.ids
    whole.add_special_tokens(sorted(ids, key=ids.__getitem__))
    (directory / WHOLE).write_bytes(whole.to_str(pretty=True).encode())

  def _encode_plain(self, texts: Sequence[str], offsets: bool) -> list[Tokens]:
    if not offsets:  # the faster call keeps no track of characters
      rows = self._library.encode_batch_fast(texts, add_special_tokens=False)
      return [Tokens(row.ids) for row in rows]
    rows = self._library.encode_batch(texts, add_special_tokens=False)
    return [
      Tokens(row.ids, [_without_space(*x, text) for x in zip(row.tokens, row.offsets, strict=True)])
      for row, text in zip(rows, texts, strict=True)
    ]

  def _decode_plain(self, ids: list[int]) -> str:
    pieces: list[Any] = [self._library.id_to_token(id) for id in ids]
    if None in pieces:
      raise InputError(f"ids {ids}: expected ids from 0 to {self.vocab_size - 1}")
    return "".join(pieces).replace(_SPACE, " ")


def _without_space(piece: str, bounds: Bounds, text: str) -> Bounds:
  start, end = bounds
  start = end - len(text[start:end].lstrip())
  return (start, end) if piece.strip(_SPACE) else (start, start)


def is_deberta(directory: Path) -> bool:
  """Returns whether a directory has a vocabulary of probable pieces with BERT's special tokens."""
  settings = whole_tokenizer(directory)
  if not is_unigram(settings):
    return not settings and (directory / MODEL).exists()
  return any(x[:1] == [BERT.start] for x in settings["model"].get("vocab", ()))


def load_unigram(directory: Path) -> UnigramTokenizer:
  """Reads tokenizer.json or else spm.model, whose settings are in tokenizer_config.json."""
  import tokenizers

  path = directory / (WHOLE if whole_tokenizer(directory) else MODEL)
  try:
    if path.name == WHOLE:
      library = tokenizers.Tokenizer.from_str(json.dumps(whole_tokenizer(directory)))
    else:
      library = _from_model(local(path).read_bytes(), tokenizer_config(directory))
  except Exception as fault:  # the library raises nothing narrower
    raise InputError(f"{path}: {fault or 'cannot be read'}; expected a unigram model") from None
  library.no_truncation()
  library.no_padding()
  size, ids = library.get_vocab_size(with_added_tokens=False), library.get_vocab()
  lost = [name for name in BERT if name not in ids and name != BERT.mask]
  if lost:
    raise InputError(f"{path}: no token {lost[0]}; expected a vocabulary like DeBERTa's")
  if path.name == MODEL:
    ends = [(name, ids[name]) for name in (BERT.start, BERT.end)]
    one = f"{BERT.start}:0 $A:0 {BERT.end}:0"
    pair = f"{one} $B:1 {BERT.end}:1"
    library.post_processor = tokenizers.processors.TemplateProcessing(one, pair, ends)
  base = {name: ids[name] for name in (*BERT, *added_tokens(directory)) if name in ids}
  base.setdefault(BERT.mask, size)  # where SentencePiece has none, transformers adds it
  special = read_special_tokens(directory, base, max(size, *base.values()) + 1, (), roles=BERT)
  return UnigramTokenizer(library, special)


def _from_model(content: bytes, config: dict[str, Any]) -> "tokenizers.Tokenizer":
  """Returns a tokenizer that computes what a SentencePiece model does."""
  import tokenizers
  from tokenizers import Regex, models, normalizers, pre_tokenizers

  fields = list(_fields(content))
  pieces = [dict(_fields(value)) for number, value in fields if number == _PIECE]
  vocab = [(x[1].decode(), x[2]) for x in pieces]
  unknown = next(i for i, x in enumerate(pieces) if x.get(3) == _UNKNOWN)
  table = dict(_fields(dict(fields)[_NORMALIZER])).get(2)
  library = tokenizers.Tokenizer(models.Unigram(vocab, unknown, byte_fallback=False))
  steps: list[Any] = [normalizers.Lowercase()] if config.get("do_lower_case") else []
  steps += [normalizers.Precompiled(table)] if table else []
  steps += [normalizers.Replace(Regex(" {2,}"), " "), normalizers.Strip()]
  library.normalizer = normalizers.Sequence(steps)
  splits: list[Any] = (
    [pre_tokenizers.Punctuation("isolated")] if config.get("split_by_punct") else []
  )
  splits.append(pre_tokenizers.Metaspace(_SPACE, "always"))
  library.pre_tokenizer = pre_tokenizers.Sequence(splits)
  library.decoder = tokenizers.decoders.Metaspace(_SPACE, "always")
  return library


def _fields(content: bytes) -> Iterator[tuple[int, Any]]:
  """Yields the numbers and contents of the fields of a message in a protocol buffer."""
  place = 0

  def varint() -> int:
    nonlocal place
    number = shift = 0
    while True:
      byte = content[place]
      place, number, shift = place + 1, number | (byte & 127) << shift, shift + 7
      if byte < 128:
        return number

  while place < len(content):
    key = varint()
    if key & 7 == _VARINT:
      yield key >> 3, varint()
      continue
    length = varint() if key & 7 == _BYTES else 4
    part = content[place : place + length]
    if key & 7 not in (_BYTES, _FIXED) or len(part) < length:
      raise ValueError("not a whole message")
    place += length
    yield key >> 3, part if key & 7 == _BYTES else struct.unpack("<f", part)[0]
