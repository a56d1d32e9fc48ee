"""Reading a model."""

import contextlib
import dataclasses
import difflib
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import flax.linen as nn
import jax

from luke_jax.config import LukeConfig
from luke_jax.convert import keys, vocabularies
from luke_jax.convert.configs import Description
from luke_jax.convert.model import Model
from luke_jax.convert.sources import Source, open_source
from luke_jax.convert.tensors import Tensors
from luke_jax.convert.text_side import read_text_side
from luke_jax.errors import InputError
from luke_jax.models.luke import (
  ARCHITECTURES,
  LukeModel,
  abstract_params,
  initial_params,
)
from luke_jax.text import EntityVocab
from luke_jax.text.processor_files import has_entity_vocab


def load(
  path: str | Path,
  *,
  architecture: str | None = None,
  labels: Sequence[str] | None = None,
  tokenizer: str | Path | None = None,
  entity_vocab: EntityVocab | None = None,
  seed: int = 0,
  **fields: Any,
) -> Model:
  """Reads a model from a Hugging Face directory or an archive of LUKE's authors.

  A RoBERTa, XLM-R or BERT directory is where pretraining starts: with `entity_vocab`, its entity
  parts are initialised from `seed`. So is a head that the files lack, where `architecture` asks
  for another. What was initialised and what was left over is in `report` and in a warning.
  `tokenizer` is a directory to take one from, since archives hold none. `fields` change the
  config: `dtype="bfloat16"`.
  """
  path = Path(path)
  with _named(path), open_source(path) as source:
    asked = _asked(source.description, architecture, labels, entity_vocab)
    tensors = _without_other_head(source, asked)
    description = _as_tensors_say(asked, tensors)
    module = _module(description.architecture, _changed(description.config, fields))
    params, report = _params(module, tensors, seed)
    left_over = (*report.unexpected, *sorted(source.tensors.names - tensors.names))
    report = dataclasses.replace(report, unexpected=left_over)
    words = Path(tokenizer) if tokenizer else None
    text = read_text_side(module.config, source.directory, words, entity_vocab)
    model = Model(module, params, description.labels, *text, report, description.rest)
    model = vocabularies.add_markers(model)
    vocabularies.check_sizes(model)
    model = vocabularies.add_second_mask(model)
    if model.processor is None and has_entity_vocab(source.directory):
      warnings.warn(f"{path}: no tokenizer, so its entity vocabulary is left out", stacklevel=2)
  if report.missing or report.unexpected:
    warnings.warn(f"{path}: {report}", stacklevel=2)
  return model


@contextlib.contextmanager
def _named(path: Path) -> Iterator[None]:
  """Puts the path before what is wrong with a model, where it is not said yet."""
  try:
    yield
  except InputError as fault:
    where = "" if str(path) in str(fault) else f"{path}: "
    raise InputError(f"{where}{fault}") from None


def _without_other_head(source: Source, asked: Description) -> Tensors:
  """The tensors, without a head that was made for another class or other labels."""
  before = source.description
  if (asked.architecture, asked.labels) == (before.architecture, before.labels):
    return source.tensors
  heads = ("classifier.", "qa_outputs.", "scorer.")
  kept = frozenset(name for name in source.tensors.names if not name.startswith(heads))
  return dataclasses.replace(source.tensors, names=kept)


def _asked(
  description: Description,
  architecture: str | None,
  labels: Sequence[str] | None,
  entity_vocab: EntityVocab | None,
) -> Description:
  """The description with what the caller asked for instead."""
  config = description.config
  if labels is not None:
    if isinstance(labels, str) or not labels:
      raise InputError(f"labels: {labels!r}; expected a list of one label or more")
    config = dataclasses.replace(config, num_labels=len(labels))
    description = dataclasses.replace(description, labels=tuple(labels))
  if not isinstance(entity_vocab, EntityVocab | None):
    raise InputError(f"entity_vocab: {entity_vocab!r}; expected an EntityVocab")
  if entity_vocab is not None and not config.entity_vocab_size:
    config = dataclasses.replace(config, entity_vocab_size=len(entity_vocab))
  architecture = architecture or description.architecture
  return dataclasses.replace(description, config=config, architecture=architecture)


def _as_tensors_say(description: Description, tensors: Tensors) -> Description:
  """The description with what only the tensors tell, not the config."""
  config, names = description.config, tensors.names
  if description.architecture == "LukeForMaskedLM":
    decoder, table = keys.WORD_DECODER.names[0], keys.ALIASES[keys.WORD_DECODER.names[0]]
    untied = tensors.differ(decoder, table)
    page = "cls_entity_predictions.decoder.weight" in names
    config = dataclasses.replace(config, tie_word_embeddings=not untied)
    config = dataclasses.replace(config, cls_entity_prediction=page)
  if description.architecture == "LukeForEntityPairClassification" and "classifier.weight" in names:
    config = dataclasses.replace(config, classifier_bias="classifier.bias" in names)
  return dataclasses.replace(description, config=config)


def _changed(config: LukeConfig, fields: dict[str, Any]) -> LukeConfig:
  known = [field.name for field in dataclasses.fields(config)]
  for name in fields:
    if name not in known:
      near = difflib.get_close_matches(name, known, n=1)
      hint = f", perhaps {near[0]}" if near else ""
      raise InputError(f"{name}: unknown; expected a field of LukeConfig{hint}")
  return dataclasses.replace(config, **fields)


def _module(architecture: str, config: LukeConfig) -> nn.Module:
  if architecture not in ARCHITECTURES:
    known = ", ".join(ARCHITECTURES)
    raise InputError(f"architecture {architecture!r}: unknown; expected one of {known}")
  return ARCHITECTURES[architecture](config)


def _params(module: nn.Module, tensors: Tensors, seed: int) -> tuple[dict, keys.Report]:
  """The parameters, those without a tensor initialised from the seed."""
  bare = isinstance(module, LukeModel)
  abstract = abstract_params(module)
  params, report = keys.from_torch(
    tensors.read, tensors.names, {"luke": abstract} if bare else abstract
  )
  params = params.get("luke", {}) if bare else params
  if report.missing:
    params = _completed(module, params, seed)
  return params, report


def _completed(module: nn.Module, params: dict, seed: int) -> dict:
  """With fresh parameters where there are none; of the others' the compiler makes no code."""
  there = keys.flatten(params)

  def rest(key: jax.Array) -> dict:
    fresh = keys.flatten(initial_params(module, key))
    return {path: x for path, x in fresh.items() if path not in there}

  return keys.unflatten(there | jax.device_get(jax.jit(rest)(jax.random.key(seed))))
