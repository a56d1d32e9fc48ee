"""The parameters that a run starts from, fitted to the data it reads."""

import dataclasses
import sys
import warnings
from collections.abc import Sequence

import numpy as np
from flax.traverse_util import flatten_dict, unflatten_dict

from luke_jax.convert.adapters import adapter_rank, is_adapter_directory, read_adapter
from luke_jax.convert.fine_tuning import fine_tuning_start
from luke_jax.convert.loading import read_model
from luke_jax.convert.parts import Entities, ModelParts
from luke_jax.convert.reading import named_directory
from luke_jax.convert.text_side import add_markers
from luke_jax.errors import InputError, at
from luke_jax.files import Path
from luke_jax.heads.kinds import HEADS
from luke_jax.heads.labels import TokenHead
from luke_jax.inference.batches import compiled_shapes, outputs
from luke_jax.models.adapters import merge_adapters, stays
from luke_jax.models.head import LabelHead
from luke_jax.models.keys import flatten, unflatten
from luke_jax.models.network import Network
from luke_jax.models.system import Backbone, ModelConfig
from luke_jax.nn.losses import IGNORED
from luke_jax.pipeline.metadata import tokenizer_hash
from luke_jax.runs.models import model_directory
from luke_jax.tasks.contract import TextTask
from luke_jax.tasks.running import Running, processor_for
from luke_jax.text import EntityVocab, Processor, Row, Tokenizer, load_entity_vocab, load_tokenizer
from luke_jax.training import export
from luke_jax.training.experiment import Experiment


def start_directory(start: str) -> Path:
  """Returns the directory of a run's start: a model, by its place or its name, or a run."""
  with at("run.start"):
    directory = named_directory(Path(start))
    if not directory.is_dir():
      raise InputError(f"{start}: a file; expected the directory of a model or the folder of a run")
    return directory


def start_params(start: Path, experiment: Experiment) -> dict:
  """Returns the parameters of a run's folder or of a model directory.

  Where the experiment's task names the directory of its records' vocabularies, the tokenizer has to
  be the same there, and entities keep their rows by title: others begin fresh.
  """
  if isinstance(experiment.task, TextTask):
    rank = experiment.optimizer.adapter
    return _fine_tuned(start, experiment.task, experiment.backbone, rank)
  return _of_run(start, experiment) if export.is_run(start) else _of_model(start, experiment)


def _of_run(start: Path, experiment: Experiment) -> dict:
  """Returns the parameters of a run of pretraining, for the records of another."""
  named = experiment.engine.text_directory
  system, other = experiment.model, export.read_experiment(start, experiment).model
  if type(other) is not type(system):
    raise InputError(f"run.start: {start}: a run of {other.name}; expected one of {system.name}")
  before, _, params = export.read_run(start, experiment)
  params = merge_adapters(params, system)
  origin = before.engine.text_directory
  if named is None or origin is None or Path(origin).resolve() == Path(named).resolve():
    return params
  _check_tokenizer(start, load_tokenizer(origin), named)
  return _fitted(params, load_entity_vocab(origin), experiment, start)


def _of_model(start: Path, experiment: Experiment) -> dict:
  """Returns the parameters of a pretrained model, for the records of a run."""
  named, system = experiment.engine.text_directory, experiment.model
  if named is None:
    return read_model(start, system=type(system)).params
  model = read_model(start, system=type(system), trained=system)
  _warn_of_decoders(start, model.config, system)
  _check_tokenizer(start, model.tokenizer, named)
  # The records' tokenizer has markers, which the start's may lack.
  markers = experiment.engine.markers
  model = add_markers(dataclasses.replace(model, tokenizer=load_tokenizer(named, markers=markers)))
  has_entities = model.processor is not None and model.backbone.entities > 0
  vocab = model.processor.entity_vocab if model.processor and has_entities else None
  return _fitted(model.params, vocab, experiment, start)


def _warn_of_decoders(start: Path, config: ModelConfig, trained: ModelConfig) -> None:
  """Warns of decoders that the start has apart from its embeddings, where training ties them."""
  ours, theirs = trained.decoders, config.decoders
  for name, tied, was_tied in (
    ("tie_word_embeddings", ours.tied, theirs.tied),
    ("tie_entity_embeddings", ours.entities_tied, theirs.entities_tied),
  ):
    if tied and not was_tied:
      dropped = f"{start}: a decoder apart from the embeddings is left out"
      warnings.warn(f"{dropped}; model.{name}=false keeps it", stacklevel=3)


def start_model(start: Path, task: TextTask, entities: Entities, **fields: object) -> ModelParts:
  """Returns the start of a task's training: the model of a directory, or of a run."""
  usual = task.head in HEADS and not HEADS[task.head].made_by_task
  make_own = None if usual else lambda backbone, _: task.network(backbone).head
  return fine_tuning_start(
    model_directory(start),
    head=make_own or task.head,
    labels=task.labels,
    new_words=task.new_words,
    entities=entities,
    task=task.name,
    **fields,
  )


def _fine_tuned(start: Path, task: TextTask, backbone: Backbone, rank: int) -> dict:
  entities: Entities = task.entity_table if backbone.entities else "none"
  changes = {"system": type(backbone.config), "trained": backbone.config}
  adapter = model_directory(start)
  weights = Path(task.text) if is_adapter_directory(adapter) else start
  model = start_model(weights, task, entities, **changes)
  _check_text(weights, model, task, processor_for(task, backbone))
  if weights is not start:
    params = _as_adapter_has_it(model, adapter, weights, rank)
    model = dataclasses.replace(model, params=params)
  if task.fit_head:
    if sys.stderr.isatty():
      print("fitting the head", file=sys.stderr, flush=True)
    model = with_fitted_head(model, task, Running(task).records(backbone, "train").rows)
  elif task.scores_all_spans(backbone):
    model = with_shares(model, Running(task).records(backbone, "train").rows)
  return model.params


def _check_text(start: Path, model: ModelParts, task: TextTask, rows: Processor) -> None:
  """Raises InputError for a model to which the ids of the task's rows mean something else."""
  if model.tokenizer is None or tokenizer_hash(model.tokenizer) != tokenizer_hash(rows.tokenizer):
    raise InputError(
      f"run.start: {start}: another tokenizer than {task.text}; expected task.text's"
    )
  if not model.backbone.entities or model.processor is None:
    return
  if model.processor.entity_vocab.ids != rows.entity_vocab.ids:
    raise InputError(f"run.start: {start}: other entities than {task.text}; expected task.text's")


def _check_tokenizer(start: Path, tokenizer: Tokenizer | None, folder: str) -> None:
  """Raises InputError for a start to which the ids of the records in a folder mean other words."""
  if tokenizer is None:
    raise InputError(f"{start}: no tokenizer; expected that of the records in {folder}")
  if tokenizer_hash(tokenizer) != tokenizer_hash(folder):
    raise InputError(f"{start}: another tokenizer than {folder}; expected that of the records")


def _fitted(params: dict, vocab: EntityVocab | None, experiment: Experiment, start: Path) -> dict:
  folder, backbone = experiment.engine.text_directory, experiment.backbone
  if vocab is None or folder is None or not backbone.entities:
    return params
  needed = load_entity_vocab(folder)
  if vocab.ids == needed.ids:
    return params
  shared = {needed.ids[title]: id for title, id in vocab.ids.items() if title in needed.ids}
  if len(shared) < len(needed):
    count = f"{len(shared)} of the {len(needed)} entities of {folder}"
    warnings.warn(f"{start}: has {count}; the others begin fresh", stacklevel=2)
  tables, deviation = backbone.config.layout.entities, backbone.numerics.init_std or 0.0
  return with_entities(params, tables, shared, len(needed), deviation=deviation)


def with_entities(
  params: dict, tables: tuple[str, ...], shared: dict[int, int], size: int, *, deviation: float
) -> dict:
  """Returns parameters with rows for other entities; `shared` are new ids and their old ones."""
  rng = np.random.default_rng(0)
  new, old = list(shared), list(shared.values())
  leaves: dict = flatten_dict(params, sep="/")
  for path, array in leaves.items():
    if path.endswith(tables):
      rows = np.zeros((size, *array.shape[1:]), np.float32)
      if path.endswith("embedding"):
        rows = rng.normal(0, deviation, rows.shape).astype(np.float32)
      rows[new] = np.asarray(array)[old]
      leaves[path] = rows
  return unflatten_dict(leaves, sep="/")


def _as_adapter_has_it(model: ModelParts, path: Path, weights: Path, rank: int) -> dict:
  """Returns the parameters of a model of some weights, as an adapter for them changes these.

  The head is the adapter's if it is one for the same labels. Of rank 0 adapters are in the kernels.
  """
  adapter, encoder = read_adapter(path, backbone=weights), f"{model.config.name}/"
  if type(adapter.config) is not model.system:
    raise InputError(f"{path}: of a {adapter.config.title}; expected one of a {model.config.title}")
  same = (adapter.kind, adapter.labels) == (model.kind, model.labels)
  changed = {
    path: x
    for path, x in flatten(adapter.params).items()
    if not stays(path, model.system) and (same or path.startswith(encoder))
  }
  params = unflatten(flatten(model.params) | changed)
  if rank == 0:
    return merge_adapters(params, model.system)
  if rank != (own := adapter_rank(path)):
    raise InputError(f"optimizer.adapter: {rank}; expected {own} as {path} has, or 0")
  return params


LAYER = "classifier"  # of a head, from its states to its labels
PENALTIES = np.geomspace(1e-2, 1e3, 26)  # in mean squares of a direction of the states
# Of all squares of states: texts that differ by less, as in a random encoder, are not told apart,
# since that takes a kernel which is too large to train on from.
LEAST_PENALTY = 1e-4
SPREAD = 0.5  # of a label's first logits: larger ones leave no loss to learn from, of few examples
FLATTER = 0.5  # power of the labels' shares in first logits: rare ones would stay out of reach
# Rows that a head is fitted to, one for each answer or with many; others would change little.
MOST_ROWS, MOST_ROWS_OF_WORDS = 4096, 512


def fits(model: ModelParts) -> str:
  """Returns whether the answers of a model's head are a linear layer over states, and of what."""
  head = model.network.head
  return head.fits if head and "kernel" in model.params.get(LAYER, {}) else ""


def with_shares(model: ModelParts, rows: Sequence[Row]) -> ModelParts:
  """Returns the model with the shares of labels among rows' candidates as its first answers.

  Of a hundred spans of words one is a name. From equal shares it takes hundreds of steps until a
  head says anything but "no name"; a head that was trained before stays as it is.
  """
  old = model.params[LAYER]
  if np.any(old["bias"]):
    return model
  labels = np.concatenate([np.ravel(np.asarray(row.labels)) for row in rows])
  counts = np.bincount(labels[labels != IGNORED], minlength=len(old["bias"]))
  bias = np.log((counts + 0.5) / (counts + 0.5).sum())
  layer = {**old, "bias": bias.astype(np.float32)}
  return dataclasses.replace(model, params={**model.params, LAYER: layer})


def with_fitted_head(model: ModelParts, task: TextTask, rows: Sequence[Row]) -> ModelParts:
  """Returns the model with its head fitted to the labels of rows.

  A head that was trained before, which its bias shows, stays as it is.
  """
  if not fits(model):
    raise InputError(f"task.fit_head: true; expected false for the {model.kind} head")
  old, of_words = model.params[LAYER], fits(model) == "words"
  if np.any(old.get("bias", 0)):
    return model
  if len(rows) > (most := MOST_ROWS_OF_WORDS if of_words else MOST_ROWS):
    rows = [rows[i] for i in np.random.default_rng(0).permutation(len(rows))[:most]]
  read, labels = states(model, task, rows), [np.asarray(row.labels) for row in rows]
  if of_words:
    known = [y != IGNORED for y in labels]
    read = [x[: len(of)][of] for x, of in zip(read, known, strict=True)]
    labels = [y[of] for y, of in zip(labels, known, strict=True)]
  join = np.concatenate if of_words else np.stack
  count, biased = old["kernel"].shape[1], "bias" in old
  kernel, bias = head_for(join(read).astype(np.float64), join(labels), count, biased=biased)
  layer = {"kernel": kernel.astype(np.float32)}
  layer |= {"bias": bias.astype(np.float32)} if biased else {}
  return dataclasses.replace(model, params={**model.params, LAYER: layer})


def states(model: ModelParts, task: TextTask, rows: Sequence[Row]) -> list[np.ndarray]:
  """Returns the states that the linear layer of a model's head reads, (D,) or (W, D) a row."""
  head = model.network.head
  assert isinstance(head, LabelHead)
  layer = model.params[LAYER]
  width = layer["kernel"].shape[0]
  # With the unit matrix as its kernel the logits of any head are the states that it reads.
  unit = {name: np.zeros(width, np.float32) for name in layer}
  unit["kernel"] = np.eye(width, dtype=np.float32)
  layer_alone = TokenHead(head.numerics, width) if fits(model) == "words" else None
  network = Network(model.backbone, layer_alone or head.clone(labels=width))
  params = {model.config.name: model.params[model.config.name], LAYER: unit}
  reading = dataclasses.replace(model, network=network, params=params, labels=())
  pad = model.processor.entity_vocab.pad_id if model.processor else 0
  # Its own shapes: padding changes the last bits, and a head is fitted again where a run goes on.
  found = outputs(reading, task, rows, pad, compiled_shapes(model.config))
  return list(found["logits"])


def head_for(
  states: np.ndarray, labels: np.ndarray, count: int, *, biased: bool = True
) -> tuple[np.ndarray, np.ndarray]:
  """Returns kernel (D, C) and bias (C,), which is 0 unless `biased`, by states (n, D) and labels.

  Labels are class numbers (n,), 0 and 1 for each label (n, C), or numbers (n,) of type float. Those
  are regressed as they are; else the logits of each label have the same spread, and those of an
  average example are by the shares of the labels, for classes flatter than these.
  """
  if labels.dtype.kind == "f":
    return ridge(states, labels[:, None].astype(np.float64), biased=biased)
  one = labels.ndim == 1
  targets = np.eye(count)[labels] if one else labels.astype(np.float64)
  share = targets.mean(0)
  middle = share if biased else 1 / count if one else 0.5  # of labels, where logits are 0
  kernel, bias = ridge(states, targets - middle, biased=biased)
  share = np.clip(share, 0.5 / len(states), 1 - 0.5 / len(states))
  scale = SPREAD / np.sqrt(share * (1 - share))  # of labels that are rare, more
  flatter = share**FLATTER
  odds = np.log(flatter / flatter.sum()) if one else np.log(share / (1 - share))
  return scale * kernel, scale * bias + odds if biased else bias


def ridge(
  states: np.ndarray, targets: np.ndarray, *, biased: bool = True
) -> tuple[np.ndarray, np.ndarray]:
  """Returns kernel and bias of a ridge regression with the best penalty.

  It is the one with the least squared error on examples that are left out one by one.
  """
  centre = states.mean(0) if biased else np.zeros(states.shape[1])
  mean = targets.mean(0) if biased else np.zeros(targets.shape[1])
  left, values, right = _directions(states - centre)
  squares, along = values**2, left.T @ (targets - mean)
  least = max(LEAST_PENALTY * float(np.square(states).sum()), 1e-12)
  penalties = np.maximum(PENALTIES * squares.mean(), least)
  own = 1 / len(states) if biased else 0.0  # of an example, by the mean
  shares = squares / (squares + penalties[:, None])  # that a penalty keeps of each direction
  errors = []
  for kept, weights in zip(shares, shares @ (left**2).T + own, strict=True):
    # The rest of an example that is left out follows from its rest and its own weight.
    rests = targets - mean - left @ (kept[:, None] * along)
    errors.append(np.square(rests / (1 - np.minimum(weights, 1 - 1e-9))[:, None]).mean())
  penalty = penalties[int(np.argmin(errors))]
  kernel = right.T @ (along * (values / (squares + penalty))[:, None])
  return kernel, mean - centre @ kernel


def _directions(states: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
  """Returns the singular value decomposition of states (n, D), by their products if n is large."""
  if len(states) <= states.shape[1]:
    return np.linalg.svd(states, full_matrices=False)
  squares, directions = np.linalg.eigh(states.T @ states)
  values = np.sqrt(np.maximum(squares, 0))
  return states @ directions / np.maximum(values, 1e-12), values, directions.T
