"""Tokenizers that the library `tokenizers` computes: of a tokenizer.json, and DeBERTa's spm.model.

A tokenizer.json may be of any kind. An spm.model is one of SentencePiece that has BERT's special
tokens.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from luke_jax.errors import InputError
from luke_jax.files import Path, read_text
from luke_jax.files.copies import local
from luke_jax.text.byte_level import continues_word
from luke_jax.text.sentence_piece import message_fields
from luke_jax.text.tokenizer import (
  BERT,
  MARKERS,
  ROLE_KEYS,
  WHOLE,
  Bounds,
  PiecesOfLibrary,
  SpecialTokens,
  Tokens,
  is_mask_a_word,
  markers_among,
  special_map,
  tokenizer_config,
)
from luke_jax.text.word_piece import named_roles

if TYPE_CHECKING:
  import tokenizers

PLAIN = "PreTrainedTokenizerFast"


class LibraryTokenizer(PiecesOfLibrary):
  """Strings <-> ids as a tokenizer.json says, whose added tokens are read as they are spelt.

  ModernBERT's and ALBERT's are of this kind.
  """

  def __init__(self, library: "tokenizers.Tokenizer", special: SpecialTokens, name: str):
    self._library = library
    self._name = name  # of its class in transformers
    self.special = special
    vocabulary = library.get_vocab(with_added_tokens=True)
    self.vocab_size = 1 + max(vocabulary.values())

  def encode(self, texts: Sequence[str], *, offsets: bool = False) -> list[Tokens]:
    """Returns the tokens of each text, with their character offsets on request."""
    return self._encode_plain(texts, offsets)

  def decode(self, ids: Iterable[int]) -> str:
    """Returns the text of ids, special tokens included."""
    ids = [int(id) for id in ids]
    if ids and not 0 <= min(ids) <= max(ids) < self.vocab_size:
      raise InputError(f"ids {ids}: expected ids from 0 to {self.vocab_size - 1}")
    return self._library.decode(ids, skip_special_tokens=False)

  def with_words(self, words: Iterable[str]) -> "LibraryTokenizer":
    """Returns a tokenizer that also knows these words, each of which is one token."""
    import tokenizers

    words = list(words)
    library = tokenizers.Tokenizer.from_str(self._library.to_str())
    library.add_tokens([tokenizers.AddedToken(x, special=True, normalized=False) for x in words])
    # A word that the vocabulary has already keeps its id.
    vocabulary = library.get_vocab(with_added_tokens=True)
    ids = {**self.special.ids, **{x: vocabulary[x] for x in words}}
    special = replace(self.special, ids=ids, markers=self.special.markers or markers_among(ids))
    return LibraryTokenizer(library, special, self._name)

  def word_starts(self, *, as_spelt: bool = False) -> np.ndarray | None:
    """Returns whether each piece starts a word, (ids,); None if pieces are not of bytes."""
    import tokenizers

    if not isinstance(self._library.decoder, tokenizers.decoders.ByteLevel):
      return None
    starts = np.ones(self.vocab_size, bool)
    for id in set(range(self.vocab_size)) - self.special.names.keys():
      starts[id] = not continues_word(self.decode([id]))
    return starts

  def hub_settings(self) -> dict[str, object]:
    """Returns the entries of tokenizer_config.json by which transformers reads the files."""
    return {"tokenizer_class": self._name, **dict(zip(ROLE_KEYS, self.special.roles, strict=True))}

  def save_vocab(self, directory: Path) -> None:
    """Writes tokenizer.json, which has the special tokens too."""
    (directory / WHOLE).write_bytes(self._library.to_str(pretty=True).encode())

  def _places(self, encoding: "tokenizers.Encoding", text: str) -> list[Bounds]:
    return [_without_space(text, *span) for span in encoding.offsets]


def _without_space(text: str, start: int, end: int) -> Bounds:
  word = text[start:end].lstrip()
  return (end - len(word), end) if word else (start, end)


def load_library_tokenizer(directory: Path) -> LibraryTokenizer:
  """Reads a tokenizer.json, and the names of its special tokens beside it."""
  import tokenizers

  path = directory / WHOLE
  try:
    library = tokenizers.Tokenizer.from_str(read_text(path))
  except Exception as error:  # the library raises nothing narrower
    raise InputError(f"{path}: {error}; expected a tokenizer of the library tokenizers") from None
  library.no_truncation()
  library.no_padding()
  settings = tokenizer_config(directory)
  vocabulary = library.get_vocab(with_added_tokens=True)
  roles = named_roles(path, special_map(directory) | settings, vocabulary)
  added = library.get_added_tokens_decoder().items()
  ids = {x.content: id for id, x in added if x.special or x.content in (*roles, *MARKERS)}
  ids |= {name: vocabulary[name] for name in roles}
  special = SpecialTokens(ids, markers_among(ids), roles, is_mask_a_word(directory, roles.mask))
  name = str(settings.get("tokenizer_class", PLAIN))
  name = PLAIN if name == "TokenizersBackend" else name  # which only transformers 5 knows
  return LibraryTokenizer(library, special, name)


MODEL = "spm.model"
_SPACE = "▁"
# Numbers of fields, and the type of the unknown piece, in sentencepiece_model.proto.
_PIECE, _NORMALIZER, _UNKNOWN = 1, 3, 2


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

  fields = list(message_fields(content))
  pieces = [dict(message_fields(value)) for number, value in fields if number == _PIECE]
  unknown = next(i for i, x in enumerate(pieces) if x.get(3) == _UNKNOWN)
  table = dict(message_fields(dict(fields)[_NORMALIZER])).get(2)
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
