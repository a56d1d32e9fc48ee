"""The text side of a model: its tokenizer and its entity vocabulary, if the files have them."""

import dataclasses
from pathlib import Path

from luke_jax.config import LukeConfig
from luke_jax.text import (
  EntityVocab,
  LukeProcessor,
  Tokenizer,
  load_entity_vocab,
  load_processor,
  load_tokenizer,
)
from luke_jax.text.processor_files import has_entity_vocab
from luke_jax.text.tokenizer_files import has_tokenizer


def read_text_side(
  config: LukeConfig, directory: Path, tokenizer: Path | None, vocab: EntityVocab | None
) -> tuple[Tokenizer | None, LukeProcessor | None]:
  """What turns text into inputs; None for what the files lack. `tokenizer` and `vocab` go first."""
  words = tokenizer or directory
  if not has_tokenizer(words):
    return (load_tokenizer(words) if tokenizer else None), None
  if vocab is None and config.entity_vocab_size and has_entity_vocab(directory):
    if words == directory:
      processor = load_processor(directory)
      return processor.tokenizer, _fitted(processor, config)
    vocab = load_entity_vocab(directory)
  found = load_tokenizer(words)
  return found, _fitted(LukeProcessor(found, vocab), config) if vocab else None


def _fitted(processor: LukeProcessor, config: LukeConfig) -> LukeProcessor:
  """A processor that makes no row longer than the model has positions for."""
  length = min(processor.max_length, config.room_for_words)
  return dataclasses.replace(processor, max_length=length)
