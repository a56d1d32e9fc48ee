"""The parameters that a run starts from, fitted to the records it reads."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
from flax.traverse_util import flatten_dict, unflatten_dict

from luke_jax import convert
from luke_jax.cli import fine_tune
from luke_jax.convert.vocabularies import ENTITY_ARRAYS
from luke_jax.errors import InputError
from luke_jax.pipeline.metadata import tokenizer_hash
from luke_jax.tasks.names import is_fine_tuned
from luke_jax.text import EntityVocab, Tokenizer, load_entity_vocab, load_tokenizer
from luke_jax.training import export
from luke_jax.training.experiment import Experiment


def start_params(start: Path, experiment: Experiment) -> dict:
  """Parameters of a run's folder or of a model directory.

  Where the experiment's task names the directory of its records' vocabularies, the tokenizer has to
  be the same there, and entities keep their rows by title: others begin fresh.
  """
  if is_fine_tuned(experiment.task):
    return fine_tune.start_params(start, experiment)
  named = experiment.task.text_directory
  if export.is_run(start):
    before, _, params = export.read_run(start)
    origin = before.task.text_directory
    if named is None or origin is None or Path(origin).resolve() == Path(named).resolve():
      return params
    return _fitted(params, load_tokenizer(origin), load_entity_vocab(origin), experiment, start)
  if named is None:
    return convert.load(start).params
  attention = experiment.model.use_entity_aware_attention
  model = convert.load(start, use_entity_aware_attention=attention)
  vocab = model.processor.entity_vocab if model.processor else None
  return _fitted(model.params, model.tokenizer, vocab, experiment, start)


def _fitted(
  params: dict,
  tokenizer: Tokenizer | None,
  vocab: EntityVocab | None,
  experiment: Experiment,
  start: Path,
) -> dict:
  folder = experiment.task.text_directory
  if tokenizer is None:
    raise InputError(f"{start}: no tokenizer; expected that of the records in {folder}")
  if tokenizer_hash(tokenizer) != tokenizer_hash(folder):
    raise InputError(f"{start}: another tokenizer than {folder}; expected that of the records")
  if vocab is None or not experiment.model.entity_vocab_size:
    return params
  wanted = load_entity_vocab(folder)
  if vocab.ids == wanted.ids:
    return params
  shared = {wanted.ids[title]: id for title, id in vocab.ids.items() if title in wanted.ids}
  if len(shared) < len(wanted):
    told = f"{len(shared)} of the {len(wanted)} entities of {folder}"
    warnings.warn(f"{start}: has {told}; the others begin fresh", stacklevel=2)
  return with_entities(params, shared, len(wanted), experiment.model.initializer_range)


def with_entities(params: dict, shared: dict[int, int], size: int, deviation: float) -> dict:
  """The parameters with rows for other entities; `shared` are new ids and the old ones of each."""
  rng = np.random.default_rng(0)
  new, old = list(shared), list(shared.values())
  leaves: Any = flatten_dict(params, sep="/")
  for path, array in leaves.items():
    if path.endswith(ENTITY_ARRAYS):
      rows = np.zeros((size, *array.shape[1:]), np.float32)
      if path.endswith("embedding"):
        rows = rng.normal(0, deviation, rows.shape).astype(np.float32)
      rows[new] = np.asarray(array)[old]
      leaves[path] = rows
  return unflatten_dict(leaves, sep="/")
