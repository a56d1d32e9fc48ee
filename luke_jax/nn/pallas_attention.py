"""Entity-aware self-attention on TPUs as Pallas kernels: shapes, VMEM, batch axes, gradient."""

import functools
from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from luke_jax.nn.block_attention import Blocks, query_counts
from luke_jax.nn.layers import batch_axes, keep
from luke_jax.nn.pallas_kernels import (
  LANES,
  MASKED,
  QUERIES_AT_ONCE,
  Static,
  backward_kernel,
  chunks_of,
  forward_kernel,
)

TILE = 16  # sublanes of a bfloat16 tile
# Bytes. The backward kernel was measured to take up to 12.6 KiB of VMEM (float32, H 32) for each
# token and byte of the dtype. The limit is below the VMEM of every TPU. Above it the kernel's code,
# which grows with T squared, becomes long too.
VMEM_PER_TOKEN_AND_BYTE = 13 * 2**10
VMEM_LIMIT = 52 * 2**20


def pallas_attention(
  queries: Blocks,
  key: jax.Array,
  value: jax.Array,
  mask: jax.Array,
  seeds: jax.Array | None = None,
  *,
  dropout_rate: float = 0.0,
  interpret: bool = False,
) -> jax.Array:
  """Returns attention of words and entities (LUKE, section 3.2), (B, T, N, H) as `value.dtype`.

  `queries[query kind][key kind]` are (B, W, N, H) for words and (B, E, N, H) for entities, or a
  single (B, T, N, H) if one query serves all. `key` and `value` are (B, T, N, H), words first;
  `mask` (B, T) is true on real tokens. A sequence without real tokens gets the mean of its values
  and no gradient. `seeds` (B, N), uint32, choose what is dropped, as in `dropout_mask`. Operands of
  products are bfloat16, or float32 at highest precision; sums and softmax are float32. Under a mesh
  every device runs its own sequences.
  """
  B, _, num_heads, head_size = value.shape
  if reason := unsupported(query_counts(queries), num_heads, head_size, value.dtype):
    raise ValueError(f"pallas_attention: {reason}")
  if dropout_rate and seeds is None:
    raise ValueError("pallas_attention: dropout needs seeds, one per sequence and head")
  if seeds is None:
    seeds = jnp.zeros((B, num_heads), jnp.uint32)
  bias = jnp.where(mask.astype(bool), 0.0, MASKED)[..., None]
  # (B, W | E | T, D); the bias is (B, T, 1), float32.
  flat = jax.tree.map(lambda x: x.reshape(*x.shape[:2], -1), (queries, key, value))
  static = Static(head_size, dropout_rate, interpret)
  return _over_batch(functools.partial(_attention, static))(seeds, *flat, bias).reshape(value.shape)


def unsupported(
  lengths: Sequence[int], num_heads: int, head_size: int, dtype: jax.typing.DTypeLike
) -> str | None:
  """Returns why the kernels cannot run these shapes, or None if they can."""
  if dtype not in (jnp.bfloat16, jnp.float32):
    return f"arrays must be bfloat16 or float32, not {jnp.dtype(dtype).name}"
  if head_size not in (32, 64, 128):
    return f"a head must be 32, 64 or 128 wide, not {head_size}"
  if num_heads * head_size % LANES:
    return f"heads must fill {LANES} lanes, and {num_heads} heads of {head_size} do not"
  names = ("words", "entities") if len(lengths) == 2 else ("tokens",)
  for name, length in zip(names, lengths, strict=True):
    if length == 0 or length % TILE:
      return f"the number of {name} must be a positive multiple of {TILE}, not {length}"
  if _vmem_bytes(sum(lengths), dtype) > VMEM_LIMIT:
    most = VMEM_LIMIT // _vmem_bytes(1, dtype)
    return f"VMEM holds {most} tokens of {jnp.dtype(dtype).name}, not {sum(lengths)}"
  return None


def _over_batch(attend: Callable[..., jax.Array]) -> Callable[..., jax.Array]:
  """Maps `attend` over the batch axes of the mesh, since XLA cannot partition a kernel."""
  axes = batch_axes()
  if not axes:
    return attend
  batch = jax.sharding.PartitionSpec(axes)
  return jax.shard_map(attend, in_specs=batch, out_specs=batch, check_vma=False)


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _attention(static: Static, seeds: jax.Array, queries: Blocks, *keyed: jax.Array) -> jax.Array:
  return _forward(static, seeds, queries, *keyed)[0]


def _forward(static: Static, seeds: jax.Array, queries: Blocks, *keyed: jax.Array):
  key, value, _ = keyed
  num_chunks = len(chunks_of(queries))
  # (B, D / 128, chunks x heads of a grid step, 128), float32: in every row the Q of one chunk.
  log_sums = (len(key), key.shape[2] // LANES, num_chunks * len(static.heads), QUERIES_AT_ONCE)
  outputs = (value, jax.ShapeDtypeStruct(log_sums, jnp.float32))
  results = _call(forward_kernel, static, (seeds, queries, *keyed), outputs)
  out, log_sums = keep(results)
  return out, (seeds, queries, *keyed, out, log_sums)


def _backward(static: Static, residuals: tuple, d_out: jax.Array):
  _, queries, key, value, *_ = residuals
  outputs = (queries, key, value)
  return (None, *_call(backward_kernel, static, (*residuals, d_out), outputs), None)


_attention.defvjp(_forward, _backward)


def _call(kernel: Callable, static: Static, inputs: tuple, outputs: tuple):
  """Runs a kernel for every sequence and group of heads; outputs are shaped as `outputs`."""
  seeds, _, key, *_ = inputs
  B, num_tokens, D = key.shape
  return pl.pallas_call(
    functools.partial(kernel, static=static),
    grid_spec=pltpu.PrefetchScalarGridSpec(
      num_scalar_prefetch=1,
      grid=(B, D // LANES),
      in_specs=jax.tree.map(_block, inputs[1:]),
      out_specs=jax.tree.map(_block, outputs),
    ),
    out_shape=jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), outputs),
    compiler_params=pltpu.CompilerParams(
      dimension_semantics=("parallel", "parallel"),
      vmem_limit_bytes=max(_vmem_bytes(num_tokens, key.dtype), 2**23),
    ),
    interpret=static.interpret,
  )(seeds.reshape(-1), *inputs[1:])


def _block(array: jax.Array | jax.ShapeDtypeStruct) -> pl.BlockSpec:
  """Returns the block of an array that a grid step gets: its sequence, and its group of heads."""
  length = array.shape[1]
  if array.ndim == 4:  # log sums
    return pl.BlockSpec(
      (1, 1, *array.shape[2:]), lambda sequence, group, _: (sequence, group, 0, 0)
    )
  if array.shape[2] == 1:  # bias
    return pl.BlockSpec((1, length, 1), lambda sequence, group, _: (sequence, 0, 0))
  return pl.BlockSpec((1, length, LANES), lambda sequence, group, _: (sequence, 0, group))


def _vmem_bytes(num_tokens: int, dtype: jax.typing.DTypeLike) -> int:
  return num_tokens * jnp.dtype(dtype).itemsize * VMEM_PER_TOKEN_AND_BYTE
