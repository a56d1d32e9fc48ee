"""Reading models."""

import contextlib
import dataclasses
import functools
import math
import os
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from luke_jax.convert import text_side
from luke_jax.convert.parts import READER, ModelParts
from luke_jax.convert.sources import ModelFiles, open_source
from luke_jax.convert.tensors import Tensors
from luke_jax.convert.text_side import read_text_side
from luke_jax.errors import InputError, perhaps
from luke_jax.files import Path
from luke_jax.heads.kinds import class_names, heads_of, kind_of
from luke_jax.models import keys
from luke_jax.models.config_files import BY_REQUEST
from luke_jax.models.head import Head, SavedHead
from luke_jax.models.network import Network, abstract_params, initial_params
from luke_jax.models.system import NONE, Backbone, Described, Running, System
from luke_jax.models.table import system_named, systems
from luke_jax.text import EntityVocab
from luke_jax.text.processor import has_entity_vocab

MakeHead = Callable[[Backbone, Described], Head | None]
_DECODERS = {  # with the fields of configs that say whether they are tied
  keys.WORD_DECODER: "tie_word_embeddings",
  keys.ENTITY_DECODER: "tie_entity_embeddings",
}
RUNNING = tuple(field.name for field in dataclasses.fields(Running))


def read_model(
  path: str | Path,
  *,
  system: type[System] | str | None = None,
  head: str | MakeHead | None = None,
  labels: Sequence[str] | None = None,
  tokenizer: str | Path | None = None,
  entity_vocab: EntityVocab | None = None,
  trained: System | None = None,
  words_only: bool = False,
  blank: bool = False,
  as_encoder: bool = False,
  seed: int = 0,
  **fields: object,
) -> ModelParts:
  """Reads a model from a Hugging Face directory or an archive of LUKE's authors.

  `system` is a system, or its name, to read the files as: a LUKE starts from a RoBERTa, XLM-R or
  BERT, and does so where `entity_vocab` is given. `head` names another head than the files have, or
  makes a user's own. What the files lack is initialised from `seed`; `report` and a warning name it
  and what was left over. `tokenizer` is a directory to take one from, since archives hold none.
  `trained` is the config of a run that will train with the parameters; `words_only` leaves the
  entities out; `blank` makes zeros of what the files lack, for a caller that has it. `as_encoder`
  reads a model that reads from left to right as one that reads both ways. `fields` change the
  config and how the model runs: `dtype="bfloat16"`.
  """
  path = Path(path)
  with (
    _named(path),
    open_source(path, _system(system, entity_vocab), as_encoder=as_encoder) as opened,
  ):
    source = _of_authors(opened)
    named = head if isinstance(head, str) else None
    described = _requested(source, named, labels, entity_vocab)
    tensors = _without_other_head(source, described).compared(source.system.keys(NONE))
    if trained is not None:
      config = described.config.read_for(trained)
      described = dataclasses.replace(described, config=config)
    if words_only:
      config = described.config.with_entities(0, None)
      described = dataclasses.replace(described, config=config)
    make_own = None if isinstance(head, str) else head
    network = _network(source, described, tensors, fields, make_own)
    params, report = _params(network, tensors, None if blank else seed)
    unread = source.tensors.names - tensors.names - set(report.apart)
    elsewhere = network.backbone.config.keys(network.kind).elsewhere
    left_over = (*report.unexpected, *sorted(unread))
    left_over = tuple(name for name in left_over if not name.startswith(elsewhere))
    report = dataclasses.replace(report, unexpected=left_over)
    words = Path(tokenizer) if tokenizer else None
    text = read_text_side(
      network.backbone, source.directory / source.system.words_folder, words, entity_vocab
    )
    if text[0] is None and source.tensors.naming and source.tensors.naming.vocabulary:
      file = source.tensors.naming.vocabulary
      raise InputError(f"no {file}; expected the vocabularies of these tensors in it")
    model = ModelParts(network, params, described.labels, *text, report, described.rest)
    own = source.described.config.labels_read_as
    if (reader := source.directory / ("" if own else READER)).is_dir():
      model = dataclasses.replace(model, whole_reader=reader)
    model = text_side.add_markers(model)
    text_side.check_sizes(model)
    model = text_side.add_second_mask(model, source.archive)
    if model.tokenizer is None and has_entity_vocab(source.directory):
      warnings.warn(f"{path}: no tokenizer, so its entity vocabulary is left out", stacklevel=2)
  if report.missing or not _known(network, report.unexpected):
    warnings.warn(f"{path}: {report}", stacklevel=2)
  return model


def _of_authors(source: ModelFiles) -> ModelFiles:
  """Returns the files of a model, with what those of a head's authors say by their tensors."""
  tensors = source.tensors
  for head in heads_of(source.system).values():
    changed = head.of_authors(source.described, tensors.names, tensors.read, source.directory)
    if changed is not None:
      described, read = changed
      architecture = head.class_name(source.system.prefix)
      described = dataclasses.replace(described, architecture=architecture)
      # What it returns need not have the shapes of the file.
      tensors = dataclasses.replace(tensors, read=read, shape_of=lambda name: None)
      return dataclasses.replace(source, described=described, tensors=tensors)
  return source


def _known(network: Network, left_over: tuple[str, ...]) -> bool:
  """Returns true if all that is left over are parts of the system that this head does not read.

  The hub's BERT is such a file: its pooler serves none of its own class.
  """
  table = network.backbone.config.keys(network.kind)
  patterns = [name for key in table.rows.values() for name in key.names] + [*table.aliases]
  pattern = re.compile("|".join(re.escape(x).replace(r"\{layer\}", r"\d+") for x in patterns))
  return all(pattern.fullmatch(name) or name.startswith(table.unused) for name in left_over)


@contextlib.contextmanager
def _named(path: Path) -> Iterator[None]:
  """Puts the path before the fault of a model that does not name it yet."""
  try:
    yield
  except InputError as fault:
    where = "" if str(path) in str(fault) else f"{path}: "
    raise InputError(f"{where}{fault}") from None


def _system(
  system: type[System] | str | None, entity_vocab: EntityVocab | None
) -> type[System] | None:
  """Returns the system that the caller asks for; with entities, the one that starts from others."""
  if isinstance(system, str):
    return system_named(system)
  if not isinstance(entity_vocab, EntityVocab | None):
    raise InputError(f"entity_vocab: {entity_vocab!r}; expected an EntityVocab")
  if system is None and entity_vocab is not None:
    return next(candidate for candidate in systems() if candidate.starts_from)
  return system


def _without_other_head(source: ModelFiles, requested: Described) -> Tensors:
  """Returns the tensors, without a head that was made for another class or other labels."""
  before = source.described
  if (requested.architecture, requested.labels) == (before.architecture, before.labels):
    return source.tensors
  kind = kind_of(source.system, requested.architecture) or ""
  heads = source.system.keys(kind).heads
  names = frozenset(name for name in source.tensors.names if not name.startswith(heads))
  return dataclasses.replace(source.tensors, names=names)


def _requested(
  source: ModelFiles,
  head: str | None,
  labels: Sequence[str] | None,
  entity_vocab: EntityVocab | None,
) -> Described:
  """Returns the description of the files, changed as the caller asks."""
  described, system = source.described, source.system
  if head is None and _lacks_decoder(source):
    described = dataclasses.replace(described, architecture=class_names(system)[NONE])
  if labels is not None:
    if isinstance(labels, str) or not labels:
      raise InputError(f"labels: {labels!r}; expected a list of one label or more")
    described = dataclasses.replace(described, labels=tuple(labels), num_labels=len(labels))
  if entity_vocab is not None and not described.config.decoders.entities:
    config = described.config.with_entities(len(entity_vocab), entity_vocab.pad_id)
    described = dataclasses.replace(described, config=config)
  if head is not None:
    names = class_names(system)
    if head not in names:
      raise InputError(f"head {head!r}: unknown; expected one of {', '.join(names)}")
    described = dataclasses.replace(described, architecture=names[head])
  return described


def _lacks_decoder(source: ModelFiles) -> bool:
  """Returns true if files that are called a decoder of masked words have nothing of it.

  Encoders of sentences are saved so: what they went on from is still their class.
  """
  if kind_of(source.system, source.described.architecture) != "masked":
    return False
  rows = source.described.config.keys("masked").rows.values()
  names = (name for key in rows if key.path.startswith("masked_words/") for name in key.names)
  return source.tensors.names.isdisjoint(names)


def _network(
  source: ModelFiles,
  described: Described,
  tensors: Tensors,
  fields: dict[str, object],
  make_own: MakeHead | None,
) -> Network:
  system = source.system
  if source.described.architecture in system.left_to_right:
    raise InputError(
      f"architecture {source.described.architecture!r}: reads from left to right; expected an"
      f" encoder; {BY_REQUEST} reads it as one"
    )
  if make_own is not None:
    backbone = _changed(Backbone(described.config), fields)
    return Network(backbone, make_own(backbone, described))
  kind = kind_of(system, described.architecture)
  if kind is None:
    classes = ", ".join(class_names(system).values())
    raise InputError(f"architecture {described.architecture!r}: unknown; expected one of {classes}")
  backbone = _changed(Backbone(_as_tensors_say(system, described.config, kind, tensors)), fields)
  if kind == NONE:
    return Network(backbone)
  head, labels = heads_of(system)[kind], described.num_labels
  if described.architecture != source.described.architecture:
    return Network(backbone, head.fresh(backbone, labels))
  saved = SavedHead(labels, described.rest, tensors.names, source.directory)
  return Network(backbone, head.saved(backbone, saved))


def _as_tensors_say(system: type[System], config: Any, kind: str, tensors: Tensors) -> Any:
  """Returns the config with what only the tensors show."""
  if kind in ("masked", "pretraining"):
    table = system.keys(kind)
    for path, field in _DECODERS.items():
      if path in table.rows:
        (decoder,) = table.rows[path].names
        lost = not getattr(config, field) and decoder not in tensors.names
        config = dataclasses.replace(config, **{field: not (lost or decoder in tensors.apart)})
    if "page_entity/decoder/kernel" in table.rows:
      (page,) = table.rows["page_entity/decoder/kernel"].names
      config = dataclasses.replace(config, cls_entity_prediction=page in tensors.names)
  return config


def _changed(backbone: Backbone, fields: dict[str, Any]) -> Backbone:
  names = [field.name for field in dataclasses.fields(backbone.config)]
  for name in fields:
    if name not in (*names, *RUNNING):
      expected = f"a field of {type(backbone.config).__name__}{perhaps(name, (*names, *RUNNING))}"
      raise InputError(f"{name}: unknown; expected {expected}")
  sizes = {name: value for name, value in fields.items() if name in names}
  running = {name: value for name, value in fields.items() if name in RUNNING}
  return dataclasses.replace(
    backbone,
    config=dataclasses.replace(backbone.config, **sizes),
    running=dataclasses.replace(backbone.running, **running),
  )


def _params(network: Network, tensors: Tensors, seed: int | None) -> tuple[dict, keys.LoadReport]:
  """Returns the parameters, those without a tensor initialised from the seed, or zero without."""
  table, shapes = network.backbone.config.keys(network.kind), abstract_params(network)
  params, report = keys.from_torch(
    tensors.read, tensors.names, shapes, table, apart=tensors.apart, shape_of=tensors.shape_of
  )
  if not report.missing:
    return params, report
  filled = keys.flatten(params)
  _check_room({path: x for path, x in keys.flatten(shapes).items() if path not in filled})
  if seed is not None:
    there = keys.flatten(params)
    return keys.unflatten(there | jax.device_get(_rest(network, frozenset(there), seed))), report
  blank = {path: np.zeros(x.shape, x.dtype) for path, x in keys.flatten(shapes).items()}
  return keys.unflatten(blank | filled), report


def _check_room(missing: Mapping[str, Any]) -> None:
  """Raises InputError if arrays that the files lack are larger than this machine's memory."""
  sizes = {path: math.prod(x.shape) * x.dtype.itemsize for path, x in missing.items()}
  room = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
  if sum(sizes.values()) > room:
    largest = max(sizes, key=sizes.__getitem__)
    raise InputError(
      f"{largest}: no tensor for it, and shape {missing[largest].shape} by the config; expected"
      f" less than this machine's memory, {room / 2**30:,.0f} GiB"
    )


# Of parameters that are there the compiler makes no code, and none twice for networks that are
# alike: a service or a notebook loads many.
@functools.partial(jax.jit, static_argnames=("network", "there"))
def _rest(network: Network, there: frozenset[str], seed: int) -> dict:
  fresh = keys.flatten(initial_params(network, jax.random.key(seed)))
  return {path: x for path, x in fresh.items() if path not in there}
