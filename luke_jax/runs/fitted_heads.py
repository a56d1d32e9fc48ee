"""Heads fitted to examples before the first step, from which the encoder learns in a few steps.

The head in closed form is a ridge regression from a model's frozen states to the labels. It is the
linear layer that the head has anyway, so what comes of it is a model like any other.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np

from luke_jax.convert.parts import ModelParts
from luke_jax.errors import InputError
from luke_jax.heads.labels import TokenHead
from luke_jax.inference.batches import outputs, shapes_of
from luke_jax.models.head import LabelHead
from luke_jax.models.network import Network
from luke_jax.nn.losses import IGNORED
from luke_jax.tasks.contract import TextTask
from luke_jax.text import Row

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
  found = outputs(reading, task, rows, pad, shapes_of(model.backbone))
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
