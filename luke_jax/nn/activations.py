"""Activations under the names that transformers has for them: functions of a number alone.

Those with parameters of their own, `prelu` and `xielu`, are not among them.
"""

import functools
import math
from collections.abc import Callable, Mapping
from typing import Literal

import jax
import jax.numpy as jnp

Activation = Literal[
  "gelu",
  "gelu_10",
  "gelu_accurate",
  "gelu_fast",
  "gelu_new",
  "gelu_python",
  "gelu_python_tanh",
  "gelu_pytorch_tanh",
  "hardswish",
  "laplace",
  "leaky_relu",
  "linear",
  "mish",
  "quick_gelu",
  "relu",
  "relu2",
  "relu6",
  "sigmoid",
  "silu",
  "sqrtsoftplus",
  "swish",
  "tanh",
]

# Half the logit of the normal distribution function, over x, as a polynomial of x squared. It
# makes gelu wrong by 2.5e-5 at most, a small part of what bfloat16 resolves. Beyond x² = 50 the
# function is 0 or 1.
_HALF_LOGIT = (7.97507872e-01, 3.70056567e-02, -3.51518420e-04)


@jax.custom_jvp
def gelu(x: jax.Array) -> jax.Array:
  """Returns the Gaussian error linear unit; bfloat16 avoids the error function, which TPUs lack."""
  return _gelu_and_slope(x)[0]


@gelu.defjvp
def _gelu_jvp(primals, tangents):
  # The backward pass keeps only one array, the slope.
  y, slope = _gelu_and_slope(*primals)
  return y, slope * tangents[0]


def _gelu_and_slope(x: jax.Array) -> tuple[jax.Array, jax.Array]:
  if x.dtype != jnp.bfloat16:
    below = 0.5 + 0.5 * jax.lax.erf(x * (0.5**0.5))
    return x * below, below + x * (jnp.exp(-0.5 * x * x) * (2 * math.pi) ** -0.5)
  wide = x.astype(jnp.float32)
  square = jnp.minimum(wide * wide, 50.0)
  first, third, fifth = _HALF_LOGIT
  t = jnp.tanh(wide * (first + square * (third + square * fifth)))
  below = 0.5 + 0.5 * t
  logit_slope = first + square * (3 * third + square * (5 * fifth))
  slope = below + wide * (0.5 - 0.5 * t * t) * logit_slope
  return (wide * below).astype(x.dtype), slope.astype(x.dtype)


def _tanh_gelu(x: jax.Array) -> jax.Array:
  return 0.5 * x * (1 + jnp.tanh((2 / math.pi) ** 0.5 * (x + 0.044715 * x * x * x)))


def _laplace(x: jax.Array) -> jax.Array:
  return 0.5 * (1 + jax.lax.erf((x - 0.707107) / (0.282095 * 2**0.5)))


def _root_of_softplus(x: jax.Array) -> jax.Array:
  return jnp.sqrt(jnp.maximum(jax.nn.softplus(x), 1e-30))  # at 0 the root has no slope


_FORMULAS: Mapping[str, Callable[[jax.Array], jax.Array]] = {
  "gelu_10": lambda x: jnp.clip(gelu(x), -10.0, 10.0),
  "gelu_accurate": _tanh_gelu,
  "gelu_fast": _tanh_gelu,
  "gelu_new": _tanh_gelu,
  "gelu_python_tanh": _tanh_gelu,
  "gelu_pytorch_tanh": _tanh_gelu,
  "hardswish": jax.nn.hard_swish,
  "laplace": _laplace,
  "leaky_relu": jax.nn.leaky_relu,
  "mish": jax.nn.mish,
  "quick_gelu": lambda x: x * jax.nn.sigmoid(1.702 * x),
  "relu2": lambda x: jnp.square(jax.nn.relu(x)),
  "relu6": jax.nn.relu6,
  "sigmoid": jax.nn.sigmoid,
  "silu": jax.nn.silu,
  "sqrtsoftplus": _root_of_softplus,
  "swish": jax.nn.silu,
  "tanh": jnp.tanh,
}
# Those that need no care in bfloat16.
_PLAIN: Mapping[str, Callable[[jax.Array], jax.Array]] = {
  "gelu": gelu,
  "gelu_python": gelu,
  "linear": lambda x: x,
  "relu": jax.nn.relu,
}


def activate(x: jax.Array, activation: Activation) -> jax.Array:
  """Returns the activation of x, element by element."""
  plain = _PLAIN.get(activation)
  return plain(x) if plain else _in_float32(activation, x)


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def _in_float32(activation: str, x: jax.Array) -> jax.Array:
  return _FORMULAS[activation](_wide(x)).astype(x.dtype)


@_in_float32.defjvp
def _in_float32_jvp(activation, primals, tangents):
  # The backward pass keeps only one array, the slope, in the type of x.
  (x,), wide = primals, _wide(primals[0])
  y, slope = jax.jvp(_FORMULAS[activation], (wide,), (jnp.ones_like(wide),))
  return y.astype(x.dtype), slope.astype(x.dtype) * tangents[0]


def _wide(x: jax.Array) -> jax.Array:
  return x.astype(jnp.promote_types(x.dtype, jnp.float32))
