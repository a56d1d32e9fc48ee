"""Devices of the two sides of a comparison, and the speed of a matrix product on each."""

import contextlib
import os
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from luke_jax.errors import InputError
from luke_jax.files import cores_and_processor
from luke_jax.nn.layers import Dtype

# Rows and columns of a product that is large enough to reach the device's speed, and how many are
# taken in a row: on a GPU, starting a single one takes a fifth of its time.
PRODUCT, IN_A_ROW = {"cpu": 2048}, {"cpu": 1}
PRODUCT_ELSEWHERE, IN_A_ROW_ELSEWHERE = 8192, 10


def share_gpu() -> None:
  """Lets JAX take a GPU's memory as it is needed, so that PyTorch has some; before JAX's first use.

  By default JAX reserves three quarters of it.
  """
  os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")


def devices() -> str:
  """Returns the names of JAX's first device and of the processor."""
  return f"{jax.devices()[0].device_kind}, {cores_and_processor()}"


def torch_device() -> str:
  """Returns the kind of PyTorch's device that JAX computes on."""
  import torch

  backend = jax.default_backend()
  if backend == "cpu":
    return "cpu"
  if backend != "gpu" or not torch.cuda.is_available():
    raise InputError(
      f"PyTorch: no {backend.upper()}, which JAX computes on; expected both on one device, as with"
      " JAX_PLATFORMS=cpu"
    )
  return "cuda"


def waited(run: Callable[..., object]) -> Callable[..., object]:
  """Returns a call of PyTorch that ends when the device has done its work."""
  import torch

  def done(*arguments: object) -> Any:
    result = run(*arguments)
    if torch.cuda.is_initialized():
      torch.cuda.synchronize()
    return result

  return done


def same_precision() -> None:
  """Lets PyTorch multiply float32 as JAX does: on GPUs in TF32, unless JAX is told otherwise."""
  import torch

  config: Any = jax.config  # whose attributes are made at run time
  exact = config.jax_default_matmul_precision in ("highest", "float32")
  torch.set_float32_matmul_precision("highest" if exact else "high")


def mixed(dtype: Dtype) -> contextlib.AbstractContextManager:
  """Returns the context in which PyTorch multiplies in a type what has parameters in float32."""
  import torch

  if dtype == "float32":
    return contextlib.nullcontext()
  return torch.autocast(torch_device(), getattr(torch, dtype))


def product_flops() -> float:
  """Returns the multiplications and additions of a call that `square_product` returns."""
  backend = jax.default_backend()
  number = IN_A_ROW.get(backend, IN_A_ROW_ELSEWHERE)
  return 2.0 * number * PRODUCT.get(backend, PRODUCT_ELSEWHERE) ** 3


def square_product(dtype: Dtype) -> Callable[[], Any]:
  """Returns a function that multiplies square matrices of a type and waits for the result.

  The result has the type that a layer asks the device for.
  """
  x = jnp.asarray(_square(), dtype)
  output = jnp.float32 if jax.default_backend() == "cpu" else x.dtype
  product = jax.jit(lambda x: jnp.matmul(x, x, preferred_element_type=output))
  return lambda: jax.block_until_ready(_in_a_row(lambda: product(x)))


def torch_square_product(dtype: Dtype) -> Callable[[], Any]:
  """Returns the same by PyTorch."""
  import torch

  x = torch.tensor(_square(), device=torch_device()).to(getattr(torch, dtype))
  return waited(lambda: _in_a_row(lambda: x @ x))


def _in_a_row(product: Callable[[], object]) -> list[object]:
  return [product() for _ in range(IN_A_ROW.get(jax.default_backend(), IN_A_ROW_ELSEWHERE))]


def _square() -> np.ndarray:
  size = PRODUCT.get(jax.default_backend(), PRODUCT_ELSEWHERE)
  return np.random.default_rng(0).normal(size=(size, size)).astype(np.float32)
