"""The text side of a model: its tokenizer and its entity vocabulary, where there are files."""

import dataclasses

from luke_jax.files import Path
from luke_jax.models.system import Backbone
from luke_jax.text import (
  EntityVocab,
  Processor,
  Tokenizer,
  load_entity_vocab,
  load_processor,
  load_tokenizer,
)
from luke_jax.text.entity_vocab import SPECIAL_ENTITIES
from luke_jax.text.processor_files import has_entity_vocab
from luke_jax.text.tokenizer_files import has_tokenizer


def read_text_side(
  backbone: Backbone, directory: Path, tokenizer: Path | None, vocab: EntityVocab | None
) -> tuple[Tokenizer | None, Processor | None]:
  """Returns what turns text into inputs; None where files are missing.

  `tokenizer` and `vocab` take precedence over the directory's. A model of words only has the
  special entities, so that tasks can mark spans.
  """
  words, markers = tokenizer or directory, backbone.config.markers
  if not has_tokenizer(words):
    return (load_tokenizer(words) if tokenizer else None), None
  if vocab is None and backbone.entities and has_entity_vocab(directory):
    if words == directory:
      processor = load_processor(directory)
      return processor.tokenizer, _fitted(processor, backbone)
    vocab = load_entity_vocab(directory)
  if vocab is None and not backbone.entities:
    vocab = SPECIAL_ENTITIES
  loaded = load_tokenizer(words, markers=markers)
  return loaded, _fitted(Processor(loaded, vocab), backbone) if vocab else None


def _fitted(processor: Processor, backbone: Backbone) -> Processor:
  """Returns the processor with rows no longer than the model has positions for."""
  length = min(processor.max_length, backbone.config.room_for_words)
  types = backbone.config.token_types
  return dataclasses.replace(processor, max_length=length, token_types=types)
