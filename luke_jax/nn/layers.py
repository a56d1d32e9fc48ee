"""Small pieces that every layer is made of."""

import contextlib
import contextvars
import dataclasses
import functools
import math
from collections.abc import Iterator
from typing import Any, Literal, TypeVar

import flax.linen as nn
import jax
import jax.numpy as jnp
from flax.errors import ScopeParamShapeError
from flax.linen.initializers import zeros
from jax.ad_checkpoint import checkpoint_name
from jax.experimental.layout import Layout, with_layout_constraint
from jaxtyping import Array, Float

from luke_jax.nn.activations import Activation
from luke_jax.nn.repeatable_dropout import kept_features

# Axes of the mesh that share the batch; the engine's mesh has both, a plain one may have neither.
BATCH_AXES = ("replica", "data")
ADAPTER = ("adapter_in", "adapter_out")  # beside a kernel: (D, R) and (R, features)
LEAST_SHARDED = 2**18  # elements; smaller weights lie whole on every device: gathering costs more
KEPT = "kept"
Arrays = TypeVar("Arrays")  # one, or a tuple of them

Dtype = Literal["float32", "bfloat16"]
Remat = Literal["none", "dots", "full"]  # values that the backward pass computes again


@dataclasses.dataclass(frozen=True)
class Numerics:
  """Numbers that all layers of a model share."""

  # Of the normal distribution that kernels and tables start from; None: uniform ones, whose bounds
  # are those of PyTorch's linear layers, and for tables a variance of 1 / width.
  init_std: float | None = 0.02
  epsilon: float = 1e-5  # of layer norms
  dropout: float = 0.0  # share of the values of states that are dropped in training
  activation: Activation = "gelu"
  dtype: Dtype = "float32"  # of products; statistics, softmax and losses are in float32
  on_cpu: bool = False  # products have the form that CPUs compute fastest
  classifier_dropout: float | None = None  # what classifiers of words and texts drop; None: dropout

  @property
  def of_classifiers(self) -> float:
    """Returns the share of values that classifiers of words and texts drop; None: as elsewhere."""
    return self.dropout if self.classifier_dropout is None else self.classifier_dropout


def batch_axes() -> tuple[str, ...]:
  """Returns the axes of the current mesh that share the batch, outside of any `shard_map`."""
  mesh, manual = jax.sharding.get_abstract_mesh(), jax.sharding.AxisType.Manual
  kinds = dict(zip(mesh.axis_names, mesh.axis_types, strict=True))
  return tuple(axis for axis in BATCH_AXES if kinds.get(axis, manual) != manual)


def constrain(x: jax.Array) -> jax.Array:
  """Pins an activation's leading axis to the mesh's batch axes; no mesh, no change.

  Without it the sharding of the weights leaks into the activations.
  """
  axes = batch_axes()
  return jax.lax.with_sharding_constraint(x, jax.P(axes)) if axes else x


def keep(x: Arrays) -> Arrays:
  """Marks arrays that remat "dots" keeps for the backward pass, in the shape they have here."""
  return checkpoint_name(x, KEPT)


def spread(shape: tuple[int, ...], devices: int, first: int = 0) -> jax.sharding.PartitionSpec:
  """Returns the sharding of weights over `data`: their largest axis, from `first`, that divides.

  Weights are replicated if no axis divides or if they are small.
  """
  axes = [axis for axis in range(first, len(shape)) if shape[axis] % devices == 0]
  if not axes or math.prod(shape[first:]) < LEAST_SHARDED:
    return jax.P()
  return jax.P(*[None] * max(axes, key=lambda axis: shape[axis]), "data")


@functools.partial(jax.custom_vjp, nondiff_argnums=(1,))
def gathered(weights: jax.Array, shape: tuple[int, ...]) -> jax.Array:
  """Gathers weights for a product: whole on every device, in one piece and in `shape`.

  Left alone the partitioner passes parts around between many small products, and the compiler
  turns a matrix back into heads of 64, half of what the TPU multiplies at once. The gradient goes
  straight to the devices with the weights, if they lie as `spread` puts them.
  """
  matrix = weights.reshape(shape)
  if batch_axes():
    # The barrier keeps the change of shape in front: turning a device's part is cheap.
    matrix = jax.lax.optimization_barrier(matrix)
    matrix = jax.lax.with_sharding_constraint(matrix, jax.P())
  return jax.lax.optimization_barrier(matrix)


def _gathered_backward(_, own_shape, gradient):
  gradient = jax.lax.optimization_barrier(gradient).reshape(own_shape)
  if "data" in batch_axes():
    devices = jax.sharding.get_abstract_mesh().shape["data"]
    gradient = jax.lax.with_sharding_constraint(gradient, spread(own_shape, devices))
  return (gradient,)


gathered.defvjp(lambda x, shape: (gathered(x, shape), x.shape), _gathered_backward)


def project(
  x: Float[Array, "*tokens D"],
  kernel: Float[Array, "D ..."],
  bias: Float[Array, "..."] | None = None,
  output: Dtype | None = None,
  *,
  on_cpu: bool = False,
) -> Float[Array, "..."]:
  """Multiplies x by a kernel and adds a bias, as one product of two matrices.

  The result is of the operands' type, or of type `output`; `on_cpu` rounds it to that from float32,
  twice as fast there in bfloat16.
  """
  width = kernel.shape[0]
  matrices = x.reshape(x.size // width, width), kernel.reshape(width, -1)
  if on_cpu and x.dtype == jnp.bfloat16:
    y = _wide(*matrices)
  elif on_cpu and width > matrices[1].shape[1] and _many(matrices[0]):
    y = _narrowing(*matrices)
  else:
    y = jnp.matmul(*matrices, preferred_element_type=output)
  y = y.astype(output or x.dtype)
  if bias is not None:
    y = y + bias.reshape(-1)
  return keep(y).reshape(*x.shape[:-1], *kernel.shape[1:])


MANY_ROWS = 512  # from which a product is worth a copy of a matrix


def _many(matrix: jax.Array) -> bool:
  rows = matrix.shape[0]
  return isinstance(rows, int) and rows >= MANY_ROWS  # an exported program's have no number


@jax.custom_vjp
def _wide(x: Float[Array, "R D"], kernel: Float[Array, "D F"]) -> Float[Array, "R F"]:
  """Multiplies two matrices to float32, and so does the derivative, from operands of their type."""
  return jnp.matmul(x, kernel, preferred_element_type=jnp.float32)


def _wide_backward(residuals, d_y):
  x, kernel = residuals
  d_y = d_y.astype(x.dtype)
  if len(x) < MANY_ROWS:
    return jnp.matmul(d_y, kernel.T), jnp.matmul(x.T, d_y)
  return _wide(d_y, _turned(kernel)).astype(x.dtype), _wide(_turned(x), d_y).astype(kernel.dtype)


def _turned(matrix: Float[Array, "R F"]) -> Float[Array, "F R"]:
  """Returns a matrix transposed in memory: XLA on CPUs is half as fast if it only reads it so."""
  return with_layout_constraint(matrix.T, Layout(major_to_minor=(0, 1)))


_wide.defvjp(lambda x, kernel: (_wide(x, kernel), (x, kernel)), _wide_backward)


@jax.custom_vjp
def _narrowing(x: Float[Array, "R D"], kernel: Float[Array, "D F"]) -> Float[Array, "R F"]:
  """Multiplies many rows by a kernel with fewer columns than rows.

  The kernel's gradient is computed turned: XLA on CPUs multiplies to more columns than rows a tenth
  to a quarter faster, and to the 16 columns of an adapter several times.
  """
  return jnp.matmul(x, kernel)


def _narrowing_backward(residuals, d_y):
  x, kernel = residuals
  turned = jax.lax.optimization_barrier(jnp.matmul(d_y.T, x))
  return jnp.matmul(d_y, kernel.T), turned.T


_narrowing.defvjp(lambda x, kernel: (_narrowing(x, kernel), (x, kernel)), _narrowing_backward)


def initializer(numerics: Numerics, square: float) -> nn.initializers.Initializer:
  """Returns the distribution that weights start from; `square` is that of a uniform one's bound."""
  if numerics.init_std is not None:
    return nn.initializers.normal(numerics.init_std)
  return uniform(math.sqrt(square))


def uniform(bound: float) -> nn.initializers.Initializer:
  """Returns an initialiser of numbers between -bound and bound."""

  def init(
    key: jax.Array, shape: Any, dtype: jax.typing.DTypeLike = jnp.float32, **_: Any
  ) -> jax.Array:
    return jax.random.uniform(key, shape, dtype, -bound, bound)

  return init


_SHAPES_ALONE = contextvars.ContextVar("shapes alone", default=False)


@contextlib.contextmanager
def shapes_alone() -> Iterator[None]:
  """Makes all parameters zeros, which are traced in a quarter of the time of random numbers."""
  token = _SHAPES_ALONE.set(True)
  try:
    yield
  finally:
    _SHAPES_ALONE.reset(token)


def parameter(
  module: nn.Module, name: str, init: nn.initializers.Initializer, shape: tuple[int, ...]
) -> jax.Array:
  """Returns an array of a module's parameters, made by `init` if it is not there yet.

  Flax would trace the initializer of each that is there, to compare its shape.
  """
  if not module.has_variable("params", name):
    return module.param(name, zeros if _SHAPES_ALONE.get() else init, shape)
  value = module.get_variable("params", name)
  if value.shape != shape:
    raise ScopeParamShapeError(name, "/".join(module.path), value.shape, shape)
  return value


class Dense(nn.Module):
  """A linear layer.

  Its kernel is (D, features...), or (input_shape..., features...) where x ends in several axes. An
  adapter among its parameters adds a product of lower rank (`models.adapters`).
  """

  numerics: Numerics
  features: tuple[int, ...]
  input_shape: tuple[int, ...] = ()
  use_bias: bool = True
  output: Dtype | None = None  # of the result; by default that of the products

  @nn.compact
  def __call__(self, x: jax.Array) -> jax.Array:
    """Maps (..., D) to (..., features...)."""
    inputs = self.input_shape or x.shape[-1:]
    x = x.reshape(*x.shape[: x.ndim - len(inputs)], math.prod(inputs))
    init = initializer(self.numerics, 1 / math.prod(inputs))
    kernel = parameter(self, "kernel", init, (*inputs, *self.features))
    bias = parameter(self, "bias", zeros, self.features) if self.use_bias else None
    kernel, bias = jax.tree.map(lambda p: p.astype(self.numerics.dtype), (kernel, bias))
    matrix = gathered(kernel, (math.prod(inputs), math.prod(self.features)))
    n = self.numerics
    y = project(x, matrix.reshape(-1, *self.features), bias, self.output, on_cpu=n.on_cpu)
    low = adapter_of(self, n.dtype)
    return y if low is None else y + low_rank(x, *low, on_cpu=n.on_cpu).reshape(y.shape)


def adapter_of(module: nn.Module, dtype: Dtype) -> tuple[jax.Array, jax.Array] | None:
  """Returns the two matrices of the adapter among a module's parameters, if there is one."""
  if not module.has_variable("params", ADAPTER[0]):
    return None
  first, second = (module.get_variable("params", name).astype(dtype) for name in ADAPTER)
  return first, second


def low_rank(
  x: Float[Array, "*tokens D"],
  first: Float[Array, "D R"],
  second: Float[Array, "R F"],
  *,
  on_cpu: bool,
) -> Float[Array, "*tokens F"]:
  """Multiplies x by the matrices of an adapter."""
  return project(project(x, first, on_cpu=on_cpu), second, on_cpu=on_cpu)


class LayerNorm(nn.Module):
  """Layer normalisation over the last axis, computed in float32 whatever the products' type."""

  numerics: Numerics
  use_bias: bool = True

  @nn.compact
  def __call__(self, x: Float[Array, "*tokens D"]) -> Float[Array, "*tokens D"]:
    """Returns x with mean 0 and variance 1, scaled and moved."""
    scale = parameter(self, "scale", nn.initializers.ones, x.shape[-1:])
    bias = parameter(self, "bias", zeros, x.shape[-1:]) if self.use_bias else jnp.zeros(())
    n = self.numerics
    return _normalised(n.epsilon, x.astype(n.dtype), scale, bias).astype(n.dtype)


# Its own derivative keeps the input and two numbers a row; the automatic one keeps three inputs.
@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _normalised(epsilon, x, scale, bias):
  return _normalised_forward(epsilon, x, scale, bias)[0]


def _normalised_forward(epsilon, x, scale, bias):
  x = keep(x)
  wide = x.astype(jnp.float32)
  mean = wide.mean(-1, keepdims=True)
  inverse = jax.lax.rsqrt(jnp.square(wide - mean).mean(-1, keepdims=True) + epsilon)
  mean, inverse = keep((mean, inverse))
  return (wide - mean) * inverse * scale + bias, (x, scale, bias, mean, inverse)


def _normalised_backward(_, residuals, d_output):
  x, scale, bias, mean, inverse = residuals
  unit = (x.astype(jnp.float32) - mean) * inverse
  d_unit = d_output * scale
  along = (d_unit * unit).mean(-1, keepdims=True)
  d_x = (d_unit - d_unit.mean(-1, keepdims=True) - unit * along) * inverse
  rows = tuple(range(x.ndim - 1))
  d_bias = d_output.sum(rows if bias.ndim else None)
  return d_x.astype(x.dtype), (d_output * unit).sum(rows), d_bias


_normalised.defvjp(_normalised_forward, _normalised_backward)


def embedding(
  numerics: Numerics, rows: int, width: int, *, name: str | None = None, init: Any = None
) -> nn.Embed:
  """Returns a table of `rows` vectors of a width; by default they start as kernels do."""
  init = init or initializer(numerics, 3 / width)
  return nn.Embed(rows, width, dtype=numerics.dtype, embedding_init=init, name=name)


class Dropout(nn.Module):
  """Dropout that is on if the caller of `apply` gave a "dropout" key, without a further flag."""

  rate: float

  @nn.compact
  def __call__(self, x: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """Returns x with a share `rate` of its values zero and the rest scaled up."""
    if not self.rate or not self.has_rng("dropout"):
      return x
    seed = jax.random.bits(self.make_rng("dropout"), (), jnp.uint32)
    return jnp.where(kept_features(seed, x.shape, self.rate), x / (1 - self.rate), 0)
