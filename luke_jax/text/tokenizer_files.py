"""Tokenizers in Hugging Face directories, as transformers 4 and 5 read them."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from luke_jax.errors import InputError
from luke_jax.files import Path, check_regular, read_json_object, read_text, write_json_in_place
from luke_jax.files.copies import local
from luke_jax.text.byte_level import ByteLevelTokenizer
from luke_jax.text.library import MODEL, load_library_tokenizer, load_unigram
from luke_jax.text.sentence_piece import (
  CAMEMBERT,
  MODEL_FILE,
  XLM_R,
  Numbering,
  SentencePieceTokenizer,
  is_of_fairseq,
  is_unigram,
  serialized_model,
)
from luke_jax.text.tokenizer import (
  ADDED,
  BERT,
  CONFIG,
  MARKERS,
  MORE_SPECIAL,
  ROBERTA,
  ROLE_KEYS,
  SPECIAL_MAP,
  WHOLE,
  SpecialTokens,
  Tokenizer,
  is_mask_a_word,
  read_special_tokens,
  tokenizer_config,
  whole_tokenizer,
)
from luke_jax.text.whole_words import WORDS_FILE, load_whole_words
from luke_jax.text.word_piece import CHARACTERS_FILE, PIECES_FILE, is_word_piece, load_word_piece

VOCAB, MERGES = "vocab.json", "merges.txt"
MODEL_CONFIG = "config.json"
TOKENIZER_FILES = (CONFIG, ADDED, WHOLE, VOCAB, MERGES, PIECES_FILE, SPECIAL_MAP, MODEL_FILE)
TOKENIZER_FILES += (CHARACTERS_FILE, WORDS_FILE, MODEL)
VOCABULARIES = (VOCAB, PIECES_FILE, WHOLE, MODEL_FILE, WORDS_FILE, MODEL)


def load_tokenizer(directory: str | Path, *, markers: bool = True) -> Tokenizer:
  """Reads the tokenizer of a directory, by its files.

  It is one of byte-level BPE, SentencePiece, WordPiece or whole words.

  RoBERTa's and XLM-R's vocabularies get LUKE's entity markers where their files have none, unless
  `markers` is false; BERT's have those of their files only.
  """
  directory = Path(directory)
  defaults = MARKERS if markers else ()
  if (directory / WORDS_FILE).exists():
    return load_whole_words(directory)
  path = directory / MODEL_FILE
  check_regular(path)
  if path.exists():
    return _sentence_piece(path, local(path).read_bytes(), defaults, _numbering(directory))
  if not (directory / VOCAB).exists() and is_word_piece(directory):
    return load_word_piece(directory)
  settings = {} if (directory / VOCAB).exists() else whole_tokenizer(directory)
  if is_unigram(settings) and is_of_fairseq(settings):
    path = directory / WHOLE
    serialized, numbering = serialized_model(settings, path)
    return _sentence_piece(path, serialized, defaults, numbering)
  if is_unigram(settings) or _has_other_roles(settings):
    return load_library_tokenizer(directory)
  check_regular(directory / MODEL)
  if (directory / MODEL).exists() and not settings:
    return load_unigram(directory)
  if has_tokenizer(directory):
    return _byte_level(directory, defaults)
  raise InputError(
    f"{directory}: no tokenizer; expected {VOCAB} and {MERGES}, {PIECES_FILE}, {WHOLE},"
    f" {MODEL_FILE}, or {MODEL}"
  )


def _has_other_roles(settings: Mapping[str, Any]) -> bool:
  """Returns whether a tokenizer.json of bytes has BERT's special tokens, not RoBERTa's."""
  added = settings.get("added_tokens")
  names = (
    [x.get("content") for x in added if isinstance(x, dict)] if isinstance(added, list) else []
  )
  return BERT.start in names and ROBERTA.start not in names


def has_tokenizer(directory: Path) -> bool:
  """Returns whether a directory has the files of a tokenizer's vocabulary."""
  return any((directory / name).exists() for name in VOCABULARIES)


def save_tokenizer(
  tokenizer: Tokenizer, directory: str | Path, settings: Mapping[str, object] | None = None
) -> None:
  """Writes a tokenizer's files; `settings` are more entries for tokenizer_config.json."""
  directory = Path(directory)
  directory.mkdir(parents=True, exist_ok=True)
  tokenizer.save_vocab(directory)
  special = tokenizer.special
  more = {token: id for token, id in special.ids.items() if token not in special.roles}
  names = sorted(more, key=lambda token: (token not in special.markers, more[token]))
  additional = {MORE_SPECIAL[0]: names} if names else {}
  added = {token: id for token, id in more.items() if tokenizer.piece_id(token) != id}
  if added:
    write_json_in_place(directory / ADDED, added)
  else:
    (directory / ADDED).unlink(missing_ok=True)
  write_json_in_place(directory / SPECIAL_MAP, _named_roles(special) | additional)
  hub_settings = tokenizer.hub_settings()
  config: dict[str, object] = {"tokenizer_class": hub_settings["tokenizer_class"], **additional}
  config |= {f"entity_token_{i}": marker for i, marker in enumerate(special.markers, start=1)}
  write_json_in_place(directory / CONFIG, config | hub_settings | dict(settings or {}))


def _named_roles(special: SpecialTokens) -> dict[str, object]:
  """Returns the entries of special_tokens_map.json for the roles."""
  roles = special.roles
  names: dict[str, object] = dict(zip(ROLE_KEYS, roles, strict=True))
  if roles != ROBERTA:
    return names
  mask = {
    "content": roles.mask,
    "lstrip": special.mask_as_word,
    "rstrip": False,
    "normalized": True,
    "single_word": False,
  }
  order = ("bos_token", "cls_token", "eos_token", "sep_token", "unk_token", "pad_token")
  names |= {"bos_token": roles.start, "eos_token": roles.end}
  return {key: names[key] for key in order} | {"mask_token": mask}


def _numbering(directory: Path) -> Numbering:
  """Returns the numbering of a directory's pieces, by its settings or else by its model."""
  kind = tokenizer_config(directory).get("tokenizer_class")
  if kind is None and (directory / MODEL_CONFIG).exists():
    model = read_json_object(directory / MODEL_CONFIG, "the config of a model")
    kind = model.get("tokenizer_class") or model.get("model_type")
  return CAMEMBERT if str(kind).lower().startswith("camembert") else XLM_R


def _sentence_piece(
  path: Path, serialized: bytes, markers: tuple[str, ...], numbering: Numbering
) -> SentencePieceTokenizer:
  import sentencepiece

  try:
    model = sentencepiece.SentencePieceProcessor(model_proto=serialized)
  except (OSError, RuntimeError):
    raise InputError(f"{path}: cannot be read; expected a SentencePiece model") from None
  if (model.unk_id(), model.bos_id(), model.eos_id()) != (0, 1, 2):
    raise InputError(f"{path}: starts otherwise; expected <unk>, <s>, </s>, as XLM-R's model does")
  base = numbering.base(len(model))
  special = read_special_tokens(path.parent, base, base[ROBERTA.mask] + 1, markers)
  return SentencePieceTokenizer(model, special, numbering)


def _byte_level(directory: Path, markers: tuple[str, ...]) -> ByteLevelTokenizer:
  from tokenizers.models import BPE

  path = directory / VOCAB
  if path.exists():
    vocab, merges = read_json_object(path, "an object of token -> id"), _merges(directory / MERGES)
  else:
    path = directory / WHOLE
    vocab, merges = _vocab_and_merges(path)
  ids = {id for id in vocab.values() if type(id) is int}
  if ids != set(range(len(vocab))):
    raise InputError(f"{path}: ids with holes; expected every number from 0 to {len(vocab) - 1}")
  for token in ROBERTA:
    if token not in vocab:
      raise InputError(f"{path}: no token {token}; expected a vocabulary like RoBERTa's")
  try:
    model = BPE(vocab, merges, unk_token=ROBERTA.unknown)
  except Exception as error:  # the library raises nothing narrower
    raise InputError(f"{path}: {error}; expected a token for each part of a merge") from None
  special = read_special_tokens(
    directory, {token: vocab[token] for token in ROBERTA}, len(vocab), markers
  )
  special = replace(special, mask_as_word=is_mask_a_word(directory, ROBERTA.mask))
  prefix = tokenizer_config(directory).get("add_prefix_space", False)
  whole_texts = bool(special.markers) and not (directory / WHOLE).exists()
  return ByteLevelTokenizer(model, special, bool(prefix), whole_texts=whole_texts)


def _merges(path: Path) -> list[tuple[str, str]]:
  merges = []
  for number, line in enumerate(read_text(path).split("\n"), start=1):
    if line and not (number == 1 and line.startswith("#version")):
      first, _, second = line.partition(" ")
      if not first or not second or " " in second:
        raise InputError(f"{path}: line {number} is {line!r}; expected two tokens and a space")
      merges.append((first, second))
  if not merges:
    raise InputError(f"{path}: no merges; expected one on each line")
  return merges


def _vocab_and_merges(path: Path) -> tuple[dict[str, int], list[tuple[str, str]]]:
  settings = read_json_object(path, "a byte-level BPE tokenizer")
  try:
    types = [settings["pre_tokenizer"]["type"], settings["model"]["type"]]
    vocab, merges = settings["model"]["vocab"], settings["model"].get("merges", [])
    pairs = [merge.split(" ") if isinstance(merge, str) else merge for merge in merges]
    if types == ["ByteLevel", "BPE"]:
      return dict(vocab), [(first, second) for first, second in pairs]
  except (AttributeError, KeyError, TypeError, ValueError):
    types = "missing or in another form"
  raise InputError(
    f"{path}: pre_tokenizer and model are {types}; expected ByteLevel and BPE, vocab and merges"
  )
