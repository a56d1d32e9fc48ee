"""DeBERTa's spm.model: a SentencePiece model that has BERT's special tokens."""

import struct
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.files.copies import local
from luke_jax.text.library import LibraryTokenizer
from luke_jax.text.tokenizer import BERT, SpecialTokens, tokenizer_config

if TYPE_CHECKING:
  import tokenizers

MODEL = "spm.model"
_SPACE = "▁"
# Numbers of fields, and the type of the unknown piece, in sentencepiece_model.proto.
_PIECE, _NORMALIZER, _UNKNOWN = 1, 3, 2
_VARINT, _BYTES, _FIXED = 0, 2, 5  # how a field's content is written


def load_unigram(directory: Path) -> LibraryTokenizer:
  """Reads spm.model, whose settings are in tokenizer_config.json. A mask that it lacks is added."""
  path = directory / MODEL
  try:
    library = _from_model(local(path).read_bytes(), tokenizer_config(directory))
  except Exception as fault:  # the library raises nothing narrower
    raise InputError(f"{path}: {fault or 'cannot be read'}; expected a unigram model") from None
  for name in BERT:
    if name != BERT.mask and library.token_to_id(name) is None:
      raise InputError(f"{path}: no token {name}; expected a vocabulary like DeBERTa's")
  library.add_special_tokens(list(BERT))
  vocabulary = library.get_vocab()
  ids = {name: vocabulary[name] for name in BERT}
  special = SpecialTokens(ids, (), BERT, mask_as_word=False)
  return LibraryTokenizer(_with_ends(library, ids), special, "DebertaV2Tokenizer")


def _from_model(content: bytes, config: Mapping[str, Any]) -> "tokenizers.Tokenizer":
  """Returns a tokenizer that computes what a SentencePiece model does."""
  import tokenizers
  from tokenizers import Regex, models, normalizers, pre_tokenizers

  fields = list(_fields(content))
  pieces = [dict(_fields(value)) for number, value in fields if number == _PIECE]
  unknown = next(i for i, x in enumerate(pieces) if x.get(3) == _UNKNOWN)
  table = dict(_fields(dict(fields)[_NORMALIZER])).get(2)
  library = tokenizers.Tokenizer(models.Unigram([(x[1].decode(), x[2]) for x in pieces], unknown))
  steps: list[Any] = [normalizers.Lowercase()] if config.get("do_lower_case") else []
  steps += [normalizers.Precompiled(table)] if table else []
  steps += [normalizers.Replace(Regex(" {2,}"), " "), normalizers.Strip()]
  library.normalizer = normalizers.Sequence(steps)
  punctuation = [pre_tokenizers.Punctuation("isolated")] if config.get("split_by_punct") else []
  words = pre_tokenizers.Metaspace(_SPACE, "always")
  library.pre_tokenizer = pre_tokenizers.Sequence([*punctuation, words])
  library.decoder = tokenizers.decoders.Metaspace(_SPACE, "always")
  return library


def _with_ends(library: "tokenizers.Tokenizer", ids: Mapping[str, int]) -> "tokenizers.Tokenizer":
  """Returns the tokenizer with special tokens around texts, where transformers reads its file."""
  import tokenizers

  one, ends = f"{BERT.start}:0 $A:0 {BERT.end}:0", [(x, ids[x]) for x in (BERT.start, BERT.end)]
  template = tokenizers.processors.TemplateProcessing(one, f"{one} $B:1 {BERT.end}:1", ends)
  library.post_processor = template
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
