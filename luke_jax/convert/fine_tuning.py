"""Preparation of a pretrained model for a task: its head, labels, words and entities."""

import dataclasses
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from luke_jax.convert.loading import MakeHead, read_model
from luke_jax.convert.parts import Entities, ModelParts
from luke_jax.convert.sources import CONFIG, read_backbone
from luke_jax.convert.text_side import add_second_mask, changed_arrays, with_word_rows
from luke_jax.errors import InputError
from luke_jax.files import Path, read_json_object
from luke_jax.models.system import System
from luke_jax.text import EntityVocab
from luke_jax.text.entity_vocab import SPECIAL_ENTITIES
from luke_jax.text.tokenizer import MASK, PAD, UNKNOWN


def fine_tuning_start(
  path: str | Path,
  *,
  head: str | MakeHead,
  labels: Sequence[str],
  new_words: Mapping[str, str],
  entities: Entities,
  task: str = "",
  **fields: Any,
) -> ModelParts:
  """Reads a model to fine-tune.

  New words start from the rows of those that they are given with, unless the system has words of
  its own for the `task`. All entities stay, the special ones alone, or none, which makes a model of
  words. `[MASK2]` starts from `[MASK]`. A `system` that starts from the files of another one gets
  the special entities.
  """
  with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # a new head is intended, and its report names it
    fields |= {"words_only": entities == "none", "entity_vocab": _lacking(path, entities, **fields)}
    model = read_model(path, head=head, labels=labels or None, **fields)
  if model.tokenizer is None:
    raise InputError(f"{path}: no tokenizer; expected the files of one")
  if model.backbone.entities and model.processor is None:
    raise InputError(f"{path}: no entity vocabulary; expected entity_vocab.json")
  model = _with_words(model, model.config.added_words(task, new_words))
  if not model.backbone.entities:
    return model
  return _special_only(model) if entities == "special" else add_second_mask(model)


def _lacking(
  path: str | Path, entities: Entities, *, system: type[System] | None = None, **_: object
) -> EntityVocab | None:
  """Returns the entities for a system that starts from the files of one that has none."""
  if system is None or not system.starts_from:
    return None
  config = Path(path) / CONFIG
  if entities == "none" or not config.is_file():
    return None
  # A class of one's own that derives from the system of the files has theirs.
  if read_json_object(config, "the config of a model").get("model_type") in system.model_types:
    return None
  return None if read_backbone(Path(path)).entities else SPECIAL_ENTITIES


def _with_words(model: ModelParts, words: Mapping[str, str]) -> ModelParts:
  assert model.tokenizer is not None
  new = [word for word in words if word not in model.tokenizer.special.ids]
  if not new:
    return model
  if model.tokenizer.vocab_size != model.config.vocab_size:
    sizes = f"{model.tokenizer.vocab_size} words, the model {model.config.vocab_size}"
    raise InputError(f"the tokenizer has {sizes}; expected as many, to add {', '.join(new)}")
  if not model.config.layout.words:
    raise InputError(
      f"system {type(model.config).__name__}: layout.words: empty; expected the path of its"
      f" embeddings, to add {', '.join(new)}"
    )
  sources = [model.tokenizer.piece_id(words[word]) for word in new]
  tokenizer = model.tokenizer.with_words(new)
  processor = model.processor and dataclasses.replace(model.processor, tokenizer=tokenizer)
  model = with_word_rows(model, sources)
  return dataclasses.replace(model, tokenizer=tokenizer, processor=processor)


def _special_only(model: ModelParts) -> ModelParts:
  """Returns the model with the special entities, numbered from `[PAD]`'s 0."""
  processor: Any = model.processor
  ids, vocab = processor.entity_vocab.ids, SPECIAL_ENTITIES
  rows = [ids[title] for title in (PAD, UNKNOWN, MASK, MASK)]
  params = changed_arrays(model.params, model.config.layout.entities, lambda _, x: x[rows])
  config = model.config.with_entities(len(vocab), vocab.pad_id)
  changed = dataclasses.replace(processor, entity_vocab=vocab, language=None)
  return dataclasses.replace(model.with_config(config, params), processor=changed)
