"""Optimizers, their schedules as in the references, and frozen parameters."""

import dataclasses
import difflib
import fnmatch
import functools
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Self, get_args

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax.traverse_util import flatten_dict, unflatten_dict

from luke_jax.errors import InputError
from luke_jax.training.task import Params, Tree

Decay = Literal["linear", "constant", "linear_from_0", "wsd"]
Kind = Literal["adamw", "sgd", "stable_adamw", "muon"]
Axes = Callable[[str], tuple[int, int]]  # by a path, as `luke_jax.models.adapters.tensor_axes`
_LAYERS = re.compile(r"(?P<stack>[^\[\]]+)\[(?P<first>\d*):(?P<end>\d*)\](?P<part>/[^\[\]]+)?")


def is_frozen(path: str, patterns: Sequence[str]) -> bool:
  """Returns whether a pattern names the parameter at the path or a folder that contains it.

  `luke/pooler` and `luke/pooler/` name all below it; * stands for any part of a name. Patterns of
  layers name parts of parameters, see `layer_masks`.
  """
  names = path.split("/")
  parts = (x.strip("/").split("/") for x in patterns if not _LAYERS.fullmatch(x))
  return any(len(p) <= len(names) and all(map(fnmatch.fnmatchcase, names, p)) for p in parts)


def split_frozen(
  params: Params, patterns: Sequence[str], stays: Callable[[str], bool] | None = None
) -> tuple[Params, Params]:
  """Returns the nested dicts of the parameters that train and of those that do not.

  The latter are at paths that a pattern names, or for which `stays` returns true.
  """
  leaves = flatten_dict(params, sep="/")
  for pattern in patterns:
    if _LAYERS.fullmatch(pattern):
      _check_layers(pattern, leaves)
    elif not any(is_frozen(path, [pattern]) for path in leaves):
      raise InputError(
        f"frozen: {pattern!r} names no parameter; expected the start of a path, perhaps"
        f" {_nearest(pattern, leaves)!r}"
      )
  frozen = {
    path: x for path, x in leaves.items() if is_frozen(path, patterns) or (stays and stays(path))
  }
  trained = {path: x for path, x in leaves.items() if path not in frozen}
  if not trained:
    named = ", ".join(map(repr, patterns))
    raise InputError(f"frozen: {named} name every parameter; expected some that train")
  return unflatten_dict(trained, sep="/"), unflatten_dict(frozen, sep="/")


def layer_masks(trained: Params, patterns: Sequence[str]) -> Params | None:
  """Returns, for each trained array, what its update is multiplied by: 0 in layers that are frozen.

  `luke/encoder/layers[0:4]` names the first four layers of the arrays below `luke/encoder/layers`,
  whose first axis is the layers, and `luke/encoder/layers[0:4]/mlp` a part of these. The result is
  None where no pattern names layers.
  """
  matches = [match for pattern in patterns if (match := _LAYERS.fullmatch(pattern))]
  if not matches:
    return None
  leaves: Any = flatten_dict(trained, sep="/")
  masks = {}
  for path, x in leaves.items():
    mask = np.ones(len(x) if x.ndim else (), np.float32)
    for match in matches:
      if is_frozen(path, [_arrays(match)]):
        mask[_slice(match)] = 0
    masks[path] = mask.reshape(-1, *[1] * (x.ndim - 1)) if x.ndim else mask
  return unflatten_dict(masks, sep="/")


def _arrays(match: re.Match[str]) -> str:
  """Returns the pattern of the arrays that a pattern of layers names, for all layers."""
  return match["stack"] + (match["part"] or "")


def _slice(match: re.Match[str]) -> slice:
  return slice(*(int(match[name]) if match[name] else None for name in ("first", "end")))


def _check_layers(pattern: str, leaves: Mapping[str, Any]) -> None:
  match = _LAYERS.fullmatch(pattern)
  assert match
  stacked = [x for path, x in leaves.items() if is_frozen(path, [_arrays(match)])]
  count = len(stacked[0]) if stacked and match["stack"].endswith("layers") else 0
  if not range(count)[_slice(match)]:
    raise InputError(
      f"frozen: {pattern!r} names no layer; expected the stack of an encoder and numbers of its"
      f" layers, such as 'luke/encoder/layers[0:4]'{f', of which there are {count}' * bool(count)}"
    )


def merge(trained: Params, frozen: Params) -> Params:
  """Returns the two parts from `split_frozen` as one nested dict again."""
  return unflatten_dict(flatten_dict(trained, sep="/") | flatten_dict(frozen, sep="/"), sep="/")


def _nearest(pattern: str, paths: Iterable[str]) -> str:
  """Returns the path, or folder of paths, that is spelled most like the pattern."""
  starts = set()
  for path in paths:
    names = path.split("/")
    starts.update("/".join(names[: n + 1]) for n in range(len(names)))
  return difflib.get_close_matches(pattern.strip("/"), sorted(starts), n=1, cutoff=0)[0]


@dataclasses.dataclass(frozen=True)
class Optimizer:
  """AdamW (paper, appendix A), or another kind; the defaults are those of fine-tuning."""

  learning_rate: float = 1e-5  # the highest rate
  beta1: float = 0.9  # decay of the mean of gradients, in sgd of their sum
  beta2: float = 0.98  # decay of the mean of their squares
  epsilon: float = 1e-6  # outside the root
  weight_decay: float = 0.01  # share of a weight that a step subtracts, times the rate
  bias_correction: bool = False  # divide the means by the sum of their weights
  max_gradient_norm: float | None = None  # gradients are scaled down to this norm; null: never
  # sgd, and muon in the encoder's kernels, have beta1 as their momentum, without beta2 and epsilon;
  # stable_adamw shortens steps after gradients that are larger than usual.
  kind: Kind = "adamw"
  max_gradient: float | None = None  # every value of a gradient is cut to this size; null: never
  # Patterns of the paths of parameters that do not train; layers[0:4] are the first four layers.
  frozen: tuple[str, ...] = ()
  # Rank of the adapters that train in place of the encoder's kernels and word embeddings; 0: none.
  adapter: int = 0
  # Decay of a running mean of the weights, which is then scored and saved; null: the last weights.
  average: float | None = None

  def __post_init__(self) -> None:
    _require_one_of(self, "kind", get_args(Kind))
    for name in ("learning_rate", "epsilon"):
      _require(self, name, lambda x: _is_number(x) and x > 0, "a number above 0")
    for name in ("beta1", "beta2"):
      _require(self, name, lambda x: _is_number(x) and 0 <= x < 1, "a number from 0 to below 1")
    _require(self, "weight_decay", lambda x: _is_number(x) and x >= 0, "a number from 0")
    _require(self, "bias_correction", lambda x: isinstance(x, bool), "true or false")
    for name in ("max_gradient_norm", "max_gradient"):
      expected = "a number above 0, or None not to clip"
      _require(self, name, lambda x: x is None or (_is_number(x) and x > 0), expected)
    if self.kind == "sgd" and self.bias_correction:
      raise InputError("bias_correction: true; expected false, for sgd has no means to correct")
    _require(self, "adapter", lambda x: type(x) is int and x >= 0, "a whole number from 0")
    expected = "a number from 0 to below 1, or None for the last weights"
    _require(self, "average", lambda x: x is None or (_is_number(x) and 0 <= x < 1), expected)
    _require(self, "frozen", _are_patterns, "a tuple of paths, such as ('luke/pooler',)")


@dataclasses.dataclass(frozen=True)
class Schedule:
  """Linear warm-up from 0, then decay to 0 or constant."""

  warmup_steps: int | None = None  # or warmup_ratio of all steps
  warmup_ratio: float = 0.06  # share of the steps in which the rate rises
  # Of the rate after that, to 0 at the last step, or none; linear_from_0 falls as if from the first
  # step, so that a warm-up ends below the highest rate. wsd stays until the last decay_steps, and
  # then falls by the root of the share of these that are done (Hägele et al. 2024).
  decay: Decay = "linear"
  decay_steps: int | None = None  # of wsd; null: a tenth of all steps

  def __post_init__(self) -> None:
    for name, otherwise in (("warmup_steps", "for warmup_ratio"), ("decay_steps", "for a tenth")):
      expected = f"a whole number from 0, or None {otherwise}"
      _require(self, name, lambda x: x is None or (type(x) is int and x >= 0), expected)
    _require(self, "warmup_ratio", lambda x: _is_number(x) and 0 <= x <= 1, "a number from 0 to 1")
    _require_one_of(self, "decay", get_args(Decay))


def _require(settings: object, name: str, fits: Callable[[Any], bool], expected: str) -> None:
  value = getattr(settings, name)
  if not fits(value):
    raise InputError(f"{name}: {value!r}; expected {expected}")


def _require_one_of(settings: object, name: str, options: tuple[str, ...]) -> None:
  _require(settings, name, lambda x: x in options, f"one of {', '.join(map(repr, options))}")


def _is_number(value: object) -> bool:
  number = isinstance(value, int | float) and not isinstance(value, bool)
  return number and math.isfinite(value)


def _are_patterns(value: object) -> bool:
  return isinstance(value, tuple) and all(isinstance(x, str) and x.strip("/") for x in value)


class Length(NamedTuple):
  """Length of a run, in updates. A program takes it as an argument, so that it may change."""

  steps: Any  # a number, or its shape
  warmup: Any  # the first ones, in which the rate rises

  @classmethod
  def of(cls, schedule: Schedule, steps: int) -> Self:
    """Returns the length of a run of `steps` updates."""
    warmup = schedule.warmup_steps
    return cls(steps, int(schedule.warmup_ratio * steps) if warmup is None else warmup)


def learning_rate(
  optimizer: Optimizer, schedule: Schedule, number: jax.Array | int, length: Length
) -> jax.Array:
  """Returns the rate of an update, numbered from 0.

  As in the reference, update 0 of a warm-up has rate 0 and the update after it the first share.
  """
  (steps, warmup), number = length, jnp.asarray(number)
  share = jnp.ones(())
  if schedule.decay == "wsd":
    falling = steps / 10 if schedule.decay_steps is None else max(schedule.decay_steps, 1)
    share = 1 - jnp.sqrt(1 - jnp.clip((steps - number) / falling, 0, 1))
  elif schedule.decay != "constant":
    first = warmup if schedule.decay == "linear" else 0
    share = jnp.maximum(steps - number, 0) / jnp.maximum(steps - first, 1)
  rising = number / jnp.maximum(warmup, 1)
  return optimizer.learning_rate * jnp.where(number < warmup, rising, share)


def make_optimizer(
  optimizer: Optimizer,
  schedule: Schedule,
  decayed: tuple[str, ...] = (),
  axes: Axes = lambda path: (0, 0),
) -> optax.GradientTransformationExtraArgs:
  """Returns the optimizer of the trained parameters, a nested dict; updates take the run's length.

  Its state holds counts, and float32 moments at paths that end in the parameter's own. Of the
  settings only the kind changes its structure. `decayed` are the ends of the paths of layer norms
  that weight decay shrinks, `axes` says what of each parameter is a tensor.
  """
  cut, limit = optimizer.max_gradient, optimizer.max_gradient_norm
  # The reference's old AdamW updates the weights and then shrinks them; here, as in PyTorch's,
  # the weights before the update shrink. That changes a step by rate * decay of its length.
  decay = optax.add_decayed_weights(optimizer.weight_decay, functools.partial(_decay_mask, decayed))
  parts = [_moments(optimizer, axes), decay]
  if optimizer.kind == "stable_adamw":
    parts = [_stable(optimizer, optax.chain(*parts), axes)]
  return optax.chain(
    optax.stateless(lambda g, _: _clipped(_cut(g, cut), limit)),
    *parts,
    _scaled_by_rate(functools.partial(learning_rate, optimizer, schedule)),
  )


def _moments(optimizer: Optimizer, axes: Axes) -> optax.GradientTransformation:
  momentum = functools.partial(optax.trace, optimizer.beta1, accumulator_dtype=jnp.float32)
  if optimizer.kind == "sgd":
    return momentum()
  adam = optax.scale_by_adam(
    optimizer.beta1, optimizer.beta2, optimizer.epsilon, mu_dtype=jnp.float32
  )
  if not optimizer.bias_correction:
    adam = _uncorrected(adam, optimizer.epsilon)
  if optimizer.kind != "muon":
    return adam

  def labels(params: Tree) -> Tree:
    kinds = jax.tree.map_with_path(lambda x, _: "muon" if axes(_name(x))[1] else "adam", params)
    if "muon" not in jax.tree.leaves(kinds):
      raise InputError("optimizer.kind: 'muon'; expected 'adamw', as no encoder's kernel trains")
    return kinds

  scale = functools.partial(jax.tree.map_with_path, functools.partial(_orthogonal, axes))
  muon = optax.chain(momentum(nesterov=True), optax.stateless(lambda x, _: scale(x)))
  return optax.partition({"adam": adam, "muon": muon}, labels)


def _orthogonal(axes: Axes, path: tuple, x: jax.Array) -> jax.Array:
  """Returns Muon's update (Jordan et al. 2024) by its momentum, of every matrix in an array.

  Five steps of Newton and Schulz bring the singular values near 1, and a factor the root mean
  square of the update to about that of AdamW's (Liu et al. 2025), so that both have one rate.
  """
  first, inputs = axes(_name(path))
  rows = math.prod(x.shape[first:][:inputs])
  matrices = x.reshape(*x.shape[:first], rows, -1)
  is_tall = rows > matrices.shape[-1]
  y = matrices.mT if is_tall else matrices
  y /= jnp.linalg.norm(y, axis=(-2, -1), keepdims=True) + 1e-8
  for _ in range(5):
    square = y @ y.mT
    y = 3.4445 * y + (2.0315 * square @ square - 4.775 * square) @ y
  return 0.2 * max(matrices.shape[-2:]) ** 0.5 * (y.mT if is_tall else y).reshape(x.shape)


def _stable(
  optimizer: Optimizer, adamw: optax.GradientTransformation, axes: Axes
) -> optax.GradientTransformation:
  """Returns StableAdamW (Wortsman et al. 2023, algorithm 2), with a rate for each tensor.

  The rate is divided by the root mean square of the gradient over the root of the mean of squares
  that the step divides by, where that is above 1.
  """

  def update(updates: Tree, state: Tree, params: Tree = None) -> tuple[Tree, Tree]:
    both: Tree = adamw.update(updates, state, params)
    steps, after = both
    seen = 1 - optimizer.beta2 ** after[0].count if optimizer.bias_correction else 1.0

    def shortened(path: tuple, step: jax.Array, gradient: jax.Array, mean: jax.Array) -> jax.Array:
      ratio = jnp.square(gradient) / jnp.maximum(mean / seen, optimizer.epsilon**2)
      over = tuple(range(axes(_name(path))[0], step.ndim))
      return step / jnp.maximum(1, jnp.sqrt(ratio.mean(over, keepdims=True)))

    return jax.tree.map_with_path(shortened, steps, updates, after[0].nu), after

  return optax.GradientTransformation(adamw.init, update)


def _scaled_by_rate(
  rate: Callable[[jax.Array, Length], jax.Array],
) -> optax.GradientTransformationExtraArgs:
  """Returns `optax.scale_by_learning_rate` for a rate that the run's length changes."""

  def init(params: Tree) -> optax.ScaleByScheduleState:
    return optax.ScaleByScheduleState(count=jnp.zeros((), jnp.int32))

  def update(updates: Tree, state: Tree, params: Tree = None, **run: Any) -> tuple[Tree, Tree]:
    by = -rate(state.count, run["length"])
    scaled = jax.tree.map(lambda x: by.astype(x.dtype) * x, updates)
    return scaled, optax.ScaleByScheduleState(count=optax.safe_increment(state.count))

  return optax.GradientTransformationExtraArgs(init, update)


def _cut(gradients: Tree, limit: float | None) -> Tree:
  return gradients if limit is None else jax.tree.map(lambda g: g.clip(-limit, limit), gradients)


def _clipped(gradients: Tree, limit: float | None) -> Tree:
  """Returns gradients scaled to the limit as in PyTorch, with its 1e-6, which optax lacks."""
  if limit is None:
    return gradients
  scale = jnp.minimum(limit / (optax.tree.norm(gradients) + 1e-6), 1.0)
  return jax.tree.map(lambda g: g * scale, gradients)


def _uncorrected(
  adam: optax.GradientTransformation, epsilon: float
) -> optax.GradientTransformation:
  """Returns Adam without bias correction: early moments are pulled to 0, where they started."""

  def update(updates: Tree, state: Tree, params: Tree = None) -> tuple[Tree, Tree]:
    moments: Tree = adam.update(updates, state, params)[1]
    steps = jax.tree.map(lambda m, v: m / (jnp.sqrt(v) + epsilon), moments.mu, moments.nu)
    return steps, moments

  return optax.GradientTransformation(adam.init, update)


def _decay_mask(decayed: tuple[str, ...], params: Params) -> Params:
  def mask(path: tuple, _: jax.Array) -> bool:
    return decays(_name(path), decayed)

  return jax.tree.map_with_path(mask, params)


def _name(path: tuple) -> str:
  return jax.tree_util.keystr(path, simple=True, separator="/")


def decays(path: str, decayed: tuple[str, ...] = ()) -> bool:
  """Returns true if weight decay shrinks the parameter: no bias, no norm but `decayed`.

  A table of biases is none either, such as MPNet's of distances.
  """
  if any(f"/{path}".endswith(f"/{end}") for end in decayed):
    return True
  return not path.endswith(("/bias", "/scale", "_bias/embedding"))
