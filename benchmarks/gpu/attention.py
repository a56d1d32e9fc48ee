"""Times the attention of one layer of LUKE-large, in blocks and as JAX has it, and its products.

    python benchmarks/gpu/attention.py [SEQUENCES TOKENS]

By default 32 sequences of 640 tokens; original and entity-aware attention, in bfloat16. One line
for each.
"""

import functools
import sys
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from luke_jax.nn.attention import fused_attention
from luke_jax.nn.block_attention import block_attention

HEADS, HEAD_SIZE, WIDTH, INNER = 16, 64, 1024, 4096


def seconds(run: Callable[..., Any], *arrays: jax.Array, number: int = 20) -> float:
  """Returns the seconds of one call, of many in a row; compiling is not counted."""
  for _ in range(2):
    jax.block_until_ready(run(*arrays))
  start = time.perf_counter()
  results = [run(*arrays) for _ in range(number)][-1]
  jax.block_until_ready(results)
  return (time.perf_counter() - start) / number


def report(name: str, attend: Callable[..., jax.Array], *arrays: jax.Array) -> None:
  """Prints the time of an attention forward, and of its gradient."""

  def total(*arrays: jax.Array) -> jax.Array:
    return attend(*arrays).astype(jnp.float32).sum()

  gradient = jax.jit(jax.grad(total, (0, 1, 2)))
  times = 1e3 * seconds(jax.jit(attend), *arrays), 1e3 * seconds(gradient, *arrays)
  print(f"{name}: forward {times[0]:.2f} ms, forward and backward {times[1]:.2f} ms", flush=True)


def main(sequences: int = 32, tokens: int = 640) -> None:
  """Times all of them."""
  rng = np.random.default_rng(0)

  def normal(*shape: int) -> jax.Array:
    return jnp.asarray(rng.normal(size=shape), jnp.bfloat16)

  q, k, v = (normal(sequences, tokens, HEADS, HEAD_SIZE) for _ in range(3))
  mask = jnp.ones((sequences, tokens), bool)
  seeds = jnp.zeros((sequences, HEADS), jnp.uint32)

  def blocks(rate: float, q: jax.Array, k: jax.Array, v: jax.Array) -> jax.Array:
    return block_attention(((q,),), k, v, mask, seeds if rate else None, dropout_rate=rate)

  for rate in (0.0, 0.1):
    report(f"blocks, dropout {rate}", functools.partial(blocks, rate), q, k, v)
  words = tokens * 4 // 5

  def aware(
    attend: Callable[..., jax.Array], q: jax.Array, k: jax.Array, v: jax.Array
  ) -> jax.Array:
    parts = jnp.split(q, [words], axis=1)
    return attend(tuple((part, part) for part in parts), k, v)

  of_blocks = functools.partial(block_attention, mask=mask)
  report("blocks, entity-aware", functools.partial(aware, of_blocks), q, k, v)
  for kind in ("xla", "cudnn") if jax.default_backend() == "gpu" else ("xla",):
    attend = functools.partial(jax.nn.dot_product_attention, implementation=kind)
    report(f"jax.nn.dot_product_attention, {kind}", attend, q, k, v)
    fused = functools.partial(fused_attention, mask=mask[:, None], implementation=kind)
    report(f"the same, entity-aware, {kind}", functools.partial(aware, fused), q, k, v)
  for inner, outer in ((WIDTH, INNER), (INNER, WIDTH), (WIDTH, WIDTH)):
    rows = sequences * tokens
    time = seconds(jax.jit(jnp.matmul), normal(rows, inner), normal(inner, outer))
    speed = 2 * rows * inner * outer / time / 1e12
    print(
      f"product {rows} x {inner} x {outer}: {1e3 * time:.2f} ms, {speed:.1f} TFLOP/s", flush=True
    )


if __name__ == "__main__":
  main(*map(int, sys.argv[1:]))
