"""Tokenizers in Hugging Face directories, as transformers 4 and 5 read them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from luke_jax.errors import InputError
from luke_jax.text.byte_level import ByteLevelTokenizer
from luke_jax.text.entity_vocab import SPECIAL as SPECIAL_ENTITIES
from luke_jax.text.json_files import read_json_object, read_text, write_json
from luke_jax.text.sentence_piece import FAIRSEQ_SHIFT, MODEL_FILE, SentencePieceTokenizer
from luke_jax.text.special_tokens import (
  END,
  MARKERS,
  MASK,
  PAD,
  START,
  UNKNOWN,
  SpecialTokens,
  special_tokens,
)
from luke_jax.text.tokenizer import Tokenizer

CONFIG, ADDED, WHOLE = "tokenizer_config.json", "added_tokens.json", "tokenizer.json"
VOCAB, MERGES = "vocab.json", "merges.txt"
SPECIAL_MAP = "special_tokens_map.json"
TOKENIZER_FILES = (CONFIG, ADDED, WHOLE, VOCAB, MERGES, SPECIAL_MAP, MODEL_FILE)
BASE = (START, PAD, END, UNKNOWN, MASK)


def load_tokenizer(directory: str | Path) -> Tokenizer:
  """Reads the tokenizer of a directory: byte-level BPE or SentencePiece, told by its files."""
  directory = Path(directory)
  if (directory / MODEL_FILE).exists():
    return _sentence_piece(directory)
  if (directory / VOCAB).exists() or (directory / WHOLE).exists():
    return _byte_level(directory)
  raise InputError(
    f"{directory}: no tokenizer; expected {VOCAB} and {MERGES}, {WHOLE}, or {MODEL_FILE}"
  )


def save_tokenizer(
  tokenizer: Tokenizer, directory: str | Path, settings: Mapping[str, Any] | None = None
) -> None:
  """Writes a tokenizer's files; `settings` are more entries for tokenizer_config.json."""
  directory = Path(directory)
  directory.mkdir(parents=True, exist_ok=True)
  tokenizer.save_vocab(directory)
  special = tokenizer.special
  added = {token: id for token, id in special.ids.items() if token not in BASE}
  additional = sorted(added, key=lambda token: (token not in special.markers, added[token]))
  write_json(directory / ADDED, added)
  write_json(directory / SPECIAL_MAP, _special_tokens_map(additional))
  byte_level = isinstance(tokenizer, ByteLevelTokenizer)
  config: dict[str, Any] = {
    "tokenizer_class": "LukeTokenizer" if byte_level else "MLukeTokenizer",
    "additional_special_tokens": additional,
    "entity_token_1": special.markers[0],
    "entity_token_2": special.markers[1],
  }
  if byte_level:
    config["add_prefix_space"] = tokenizer.add_prefix_space
  write_json(directory / CONFIG, config | dict(settings or {}))


def tokenizer_config(directory: Path) -> dict[str, Any]:
  """The settings in tokenizer_config.json; none where there is no such file."""
  path = directory / CONFIG
  return read_json_object(path, "a tokenizer's settings") if path.exists() else {}


def _special_tokens_map(additional: list[str]) -> dict[str, Any]:
  mask = {
    "content": MASK,
    "lstrip": True,
    "rstrip": False,
    "normalized": True,
    "single_word": False,
  }
  return {
    "bos_token": START,
    "cls_token": START,
    "eos_token": END,
    "sep_token": END,
    "unk_token": UNKNOWN,
    "pad_token": PAD,
    "mask_token": mask,
    "additional_special_tokens": additional,
  }


def _sentence_piece(directory: Path) -> SentencePieceTokenizer:
  import sentencepiece

  path = directory / MODEL_FILE
  try:
    model = sentencepiece.SentencePieceProcessor(model_file=str(path))
  except (OSError, RuntimeError):
    raise InputError(f"{path}: cannot be read; expected a SentencePiece model") from None
  if (model.unk_id(), model.bos_id(), model.eos_id()) != (0, 1, 2):
    raise InputError(f"{path}: starts otherwise; expected <unk>, <s>, </s>, as XLM-R's model does")
  mask = len(model) + FAIRSEQ_SHIFT
  base = {START: 0, PAD: 1, END: 2, UNKNOWN: 3, MASK: mask}
  return SentencePieceTokenizer(model, _special(directory, base, mask + 1))


def _byte_level(directory: Path) -> ByteLevelTokenizer:
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
  for token in BASE:
    if token not in vocab:
      raise InputError(f"{path}: no token {token}; expected a vocabulary like RoBERTa's")
  try:
    model = BPE(vocab, merges, unk_token=UNKNOWN)
  except Exception as error:  # the library raises nothing narrower
    raise InputError(f"{path}: {error}; expected a token for each part of a merge") from None
  special = _special(directory, {token: vocab[token] for token in BASE}, len(vocab))
  prefix = tokenizer_config(directory).get("add_prefix_space", False)
  return ByteLevelTokenizer(model, special, add_prefix_space=bool(prefix))


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
  whole = read_json_object(path, "a byte-level BPE tokenizer")
  try:
    types = [whole["pre_tokenizer"]["type"], whole["model"]["type"]]
    vocab, merges = whole["model"]["vocab"], whole["model"].get("merges", [])
    pairs = [merge.split(" ") if isinstance(merge, str) else merge for merge in merges]
    if types == ["ByteLevel", "BPE"]:
      return dict(vocab), [(first, second) for first, second in pairs]
  except (AttributeError, KeyError, TypeError, ValueError):
    types = "missing or in another form"
  raise InputError(
    f"{path}: pre_tokenizer and model are {types}; expected ByteLevel and BPE, vocab and merges"
  )


def _special(directory: Path, base: Mapping[str, int], base_size: int) -> SpecialTokens:
  config = tokenizer_config(directory)
  markers = [
    config.get(f"entity_token_{i}") or config.get(f"entity_{i}_token") or MARKERS[i - 1]
    for i in (1, 2)
  ]
  first, second = (m["content"] if isinstance(m, dict) else m for m in markers)
  # transformers 5 adds the special entities to the words, where the model has no rows for them.
  added = {t: id for t, id in _added(directory, config).items() if t not in SPECIAL_ENTITIES}
  try:
    return special_tokens(base, base_size, added, (first, second))
  except InputError as error:
    raise InputError(f"{directory}: {error}") from None


def _added(directory: Path, config: Mapping[str, Any]) -> dict[str, int]:
  """Tokens added to the vocabulary, wherever this version of transformers wrote them."""
  if (directory / ADDED).exists():
    return read_json_object(directory / ADDED, "an object of token -> id")
  whole = read_json_object(directory / WHOLE, "a tokenizer") if (directory / WHOLE).exists() else {}
  try:
    if "added_tokens_decoder" in config:
      return {token["content"]: int(id) for id, token in config["added_tokens_decoder"].items()}
    return {token["content"]: token["id"] for token in whole.get("added_tokens", [])}
  except (AttributeError, KeyError, TypeError, ValueError):
    raise InputError(
      f"{directory}: added tokens in an unknown form; expected {ADDED}, or tokens with their"
      f" content and id in {CONFIG} or {WHOLE}"
    ) from None
