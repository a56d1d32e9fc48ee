"""A pretrained model made ready for a task: its head, its labels, its words and its entities."""

import dataclasses
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from luke_jax.convert.loading import load
from luke_jax.convert.model import Model
from luke_jax.convert.vocabularies import (
  ENTITY_ARRAYS,
  WORD_ARRAYS,
  add_second_mask,
  changed_arrays,
)
from luke_jax.errors import InputError
from luke_jax.text import LukeProcessor
from luke_jax.text.entity_vocab import MASK, PAD, SPECIAL_ENTITIES, UNKNOWN

Entities = Literal["none", "special", "whole"]


def fine_tuning_start(
  path: str | Path,
  *,
  architecture: str,
  labels: Sequence[str],
  new_words: Mapping[str, str],
  entities: Entities,
  **fields: Any,
) -> Model:
  """A model to fine-tune.

  New words start from the rows of those that they are given with. Of the entities stay all, the
  special ones alone, or none, which makes a model of words. `[MASK2]` starts from `[MASK]`.
  """
  if entities == "none":
    fields |= {"entity_vocab_size": 0, "use_entity_aware_attention": False}
  with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # a new head is what is wanted, and told by its report
    model = load(path, architecture=architecture, labels=labels or None, **fields)
  if model.tokenizer is None:
    raise InputError(f"{path}: no tokenizer; expected the files of one")
  if model.config.entity_vocab_size and model.processor is None:
    raise InputError(f"{path}: no entity vocabulary; expected entity_vocab.json")
  model = _with_words(model, new_words)
  if not model.config.entity_vocab_size:
    return model
  return _special_only(model) if entities == "special" else add_second_mask(model)


def _with_words(model: Model, words: Mapping[str, str]) -> Model:
  assert model.tokenizer is not None
  new = [word for word in words if word not in model.tokenizer.special.ids]
  if not new:
    return model
  if model.tokenizer.vocab_size != model.config.vocab_size:
    sizes = f"{model.tokenizer.vocab_size} words, the model {model.config.vocab_size}"
    raise InputError(f"the tokenizer has {sizes}; expected as many, to add {', '.join(new)}")
  sources = [model.tokenizer.piece_id(words[word]) for word in new]
  params = changed_arrays(
    model.params, WORD_ARRAYS, lambda _, array: np.concatenate([array, array[sources]])
  )
  tokenizer = model.tokenizer.with_words(new)
  config = dataclasses.replace(model.config, vocab_size=tokenizer.vocab_size)
  processor = model.processor and dataclasses.replace(model.processor, tokenizer=tokenizer)
  module = model.module.clone(config=config)
  return dataclasses.replace(
    model, module=module, params=params, tokenizer=tokenizer, processor=processor
  )


def _special_only(model: Model) -> Model:
  """The model with the special entities, numbered from `[PAD]`'s 0."""
  processor: Any = model.processor
  ids, vocab = processor.entity_vocab.ids, SPECIAL_ENTITIES
  rows = [ids[title] for title in (PAD, UNKNOWN, MASK, MASK)]
  params = changed_arrays(model.params, ENTITY_ARRAYS, lambda _, array: array[rows])
  config = dataclasses.replace(
    model.config, entity_vocab_size=len(vocab), entity_padding_id=vocab.pad_id
  )
  changed: LukeProcessor = dataclasses.replace(processor, entity_vocab=vocab, language=None)
  module = model.module.clone(config=config)
  return dataclasses.replace(model, module=module, params=params, processor=changed)
