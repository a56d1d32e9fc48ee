"""Entity-aware self-attention on TPUs as two Pallas kernels, one forward and one backward.

A grid step is one sequence and as many heads as fill the 128 lanes. Its T x T scores never leave
VMEM: the blocks (query of a word or entity, key of a word or entity) are matrix products into one
array, 128 queries at a time. With a single block it is original attention, or words alone. The
backward kernel recomputes the probabilities from the log sums.

Inside the kernels scores are (keys, queries): the softmax reduces over sublanes, which needs vector
operations only, and where probabilities are an operand only H rows stream past them.

Letters beyond those of luke_jax.nn: Q, the queries of a chunk, at most 128; S, the keys of one
kind, W or E; 128, the lanes, which hold 128 / H heads side by side. Arrays of a kernel lie in VMEM,
seeds in SMEM.
"""

import functools
import itertools
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from luke_jax.nn.block_attention import Blocks, query_counts
from luke_jax.nn.layers import batch_axes, keep
from luke_jax.nn.repeatable_dropout import kept_where, key_hash, query_hash

TILE = 16  # sublanes of a bfloat16 tile
# Bytes. The backward kernel was measured to take up to 12.6 KiB of VMEM (float32, H 32) for each
# token and byte of the dtype. The limit is below the VMEM of every TPU. Above it the kernel's code,
# which grows with T squared, becomes long too.
VMEM_PER_TOKEN_AND_BYTE = 13 * 2**10
VMEM_LIMIT = 52 * 2**20
LANES = 128
QUERIES_AT_ONCE = 128
# Matrix products run this many (queries, head) pairs ahead of their softmax, so that matrix and
# vector units work at the same time. Chosen by the schedules compiled for v5e.
AHEAD = 6
MASKED = -1e30


class Static(NamedTuple):
  """Static arguments of a kernel."""

  head_size: int
  dropout_rate: float
  interpret: bool

  @property
  def heads(self) -> range:
    """Returns the heads of a grid step, counted from 0."""
    return range(LANES // self.head_size)

  def lanes(self, head: int) -> slice:
    """Returns the lanes of a head."""
    return slice(head * self.head_size, (head + 1) * self.head_size)


class QueryChunk(NamedTuple):
  """Queries of one kind that are computed together, Q of them."""

  index: int
  kind: int
  rows: slice  # among the queries of their kind
  tokens: slice  # among all tokens


def forward_kernel(seeds, queries, key, value, bias, out, log_sums, *, static: Static):
  """Writes the attention of one grid step to `out`, and its log sums."""
  # Blocks of one grid step: seeds (B x N,) uint32; queries (1, W | E, 128); key, value and out
  # (1, T, 128); bias (1, T, 1) float32; log_sums (1, 1, chunks x heads, 128) float32.
  chunks = chunks_of(queries)
  keys = _split_heads(key[0], static, static.head_size**-0.5)  # by head: (T, 128), scaled
  value_columns = value[0].T  # (128, T)
  keep_mask = _dropout_of_step(seeds, key.shape[1], static)
  scores_of = functools.partial(_scores, keys, queries, bias[0])
  ahead = _ahead(scores_of, itertools.product(chunks, static.heads))
  for chunk in chunks:
    contexts = []
    for head in static.heads:
      # Softmax over keys in float32: scores and weights (T, Q), their maxima and sums (1, Q).
      scores = next(ahead)
      highest = scores.max(0, keepdims=True)
      weights = jnp.exp(scores - highest)
      total = weights.sum(0, keepdims=True)
      # Without a real key the log sum is made infinite, so that no gradient flows.
      log_sum = jnp.where(highest > MASKED / 2, highest + jnp.log(total), -MASKED)
      row = chunk.index * len(static.heads) + head
      log_sums[0, 0, row : row + 1, : log_sum.shape[1]] = log_sum
      if static.dropout_rate:
        weights = jnp.where(keep_mask(chunk, head), weights, 0.0)
      # (H, T) x (T, Q) -> (H, Q): operands in the dtype of `value`, result float32. Dividing by the
      # sum here, after the product, divides H numbers a query instead of T.
      context = _dot(value_columns[static.lanes(head)], weights.astype(value.dtype), (1, 0))
      contexts.append(context / (total * (1 - static.dropout_rate)))
    out[0, chunk.tokens] = _rows(contexts, 1.0, out.dtype)  # (Q, 128)


def backward_kernel(
  seeds, queries, key, value, bias, out, log_sums, d_out, d_queries, d_key, d_value, *, static
):
  """Writes the gradients of one grid step to `d_queries`, `d_key` and `d_value`."""
  # Blocks as in the forward kernel; d_out (1, T, 128). Gradients have the shapes of their arrays.
  parts, chunks = _parts(queries), chunks_of(queries)
  scale, keep_rate = static.head_size**-0.5, 1 - static.dropout_rate
  # By head: (T, 128), keys scaled. By kind of key: (128, S), not scaled.
  keys, values = _split_heads(key[0], static, scale), _split_heads(value[0], static)
  key_columns = [key[0, part].T for part in parts]
  keep_mask = _dropout_of_step(seeds, key.shape[1], static)
  scores_of = functools.partial(_scores, keys, queries, bias[0])

  def products_of(chunk: QueryChunk, head: int) -> tuple[jax.Array, jax.Array]:
    # (T, Q) both, float32: scores, and gradients of the probabilities after dropout.
    return scores_of(chunk, head), _dot(values[head], d_out[0, chunk.tokens], (1, 1))

  ahead = _ahead(products_of, itertools.product(chunks, static.heads))
  # Sums over chunks, float32. By head: (H, T). By kind of key and head: (H, S).
  d_value_columns: list[Any] = [0.0 for _ in static.heads]
  d_key_columns: list[list[Any]] = [[0.0 for _ in static.heads] for _ in parts]
  for chunk in chunks:
    # All heads of the chunk: (128, Q), the product of output and gradient in float32.
    d_out_columns = d_out[0, chunk.tokens].T
    out_times_d_out = (d_out[0, chunk.tokens].astype(jnp.float32) * out[0, chunk.tokens]).T
    query_columns = [query[0, chunk.rows].T for query in queries[chunk.kind]]
    d_query_columns = [[] for _ in parts]
    for head in static.heads:
      lanes = static.lanes(head)
      # Probabilities (T, Q), float32, recomputed from the log sums (1, Q).
      scores, d_dropped = next(ahead)
      row = chunk.index * len(static.heads) + head
      log_sum = log_sums[0, 0, row : row + 1, : scores.shape[1]]
      probabilities = dropped = jnp.exp(scores - log_sum)
      if static.dropout_rate:
        mask = keep_mask(chunk, head)
        dropped, d_dropped = (jnp.where(mask, x, 0.0) for x in (probabilities, d_dropped))
      # (1, Q): the sum over keys of probability times its gradient, which is the sum over H of
      # output times gradient. All gradients get the factor 1 / keep_rate at the end, in `_rows`.
      mean = out_times_d_out[lanes].sum(0, keepdims=True) * keep_rate
      d_scores = (probabilities * (d_dropped - mean)).astype(key.dtype)  # (T, Q)
      # (H, Q) x (T, Q) -> (H, T); (H, Q) x (S, Q) -> (H, S); (H, S) x (S, Q) -> (H, Q).
      d_value_columns[head] += _dot(d_out_columns[lanes], dropped.astype(key.dtype), (1, 1))
      for kind, part in enumerate(parts):
        d_key_columns[kind][head] += _dot(query_columns[kind][lanes], d_scores[part], (1, 1))
        d_query_columns[kind].append(_dot(key_columns[kind][lanes], d_scores[part], (1, 0)))
    for d_query, columns in zip(d_queries[chunk.kind], d_query_columns, strict=True):
      d_query[0, chunk.rows] = _rows(columns, scale / keep_rate, d_query.dtype)  # (Q, 128)
  # (T, 128), and (S, 128) for each kind of key.
  d_value[0] = _rows(d_value_columns, 1 / keep_rate, d_value.dtype)
  for part, columns in zip(parts, d_key_columns, strict=True):
    d_key[0, part] = _rows(columns, scale / keep_rate, d_key.dtype)


def _parts(queries) -> list[slice]:
  """Returns the tokens of each kind."""
  ends = itertools.accumulate(query_counts(queries), initial=0)
  return list(itertools.starmap(slice, itertools.pairwise(ends)))


def chunks_of(queries: Blocks) -> list[QueryChunk]:
  """Returns the chunks of queries in the order in which they are computed."""
  chunks = []
  for kind, part in enumerate(_parts(queries)):
    for start in range(part.start, part.stop, QUERIES_AT_ONCE):
      stop = min(start + QUERIES_AT_ONCE, part.stop)
      rows = slice(start - part.start, stop - part.start)
      chunks.append(QueryChunk(len(chunks), kind, rows, slice(start, stop)))
  return chunks


def _ahead(compute: Callable, tasks: Iterable[tuple]) -> Iterator:
  """Yields the result of every task in order, AHEAD tasks after it was computed."""
  results = deque()
  for task in tasks:
    results.append(compute(*task))
    if len(results) > AHEAD:
      yield results.popleft()
  yield from results


def _split_heads(x: jax.Array, static: Static, factor: float = 1.0) -> list[jax.Array]:
  """Returns for each head x (T, 128) times a factor in its lanes, and zero in the others.

  A product over all lanes is then one over the head's lanes, and no data moves between lanes.
  """
  lane = lax.broadcasted_iota(jnp.int32, x.shape, 1)
  scaled = x.astype(jnp.float32) * factor
  inside = [
    (lane >= lanes.start) & (lane < lanes.stop) for lanes in map(static.lanes, static.heads)
  ]
  return [jnp.where(its, scaled, 0.0).astype(x.dtype) for its in inside]


def _scores(
  keys: list[jax.Array], queries, bias: jax.Array, chunk: QueryChunk, head: int
) -> jax.Array:
  """Returns masked scores (T, Q), float32; each kind of key has its own queries."""
  # (S, 128) x (Q, 128) -> (S, Q).
  blocks = [
    _dot(keys[head][part], query[0, chunk.rows], (1, 1))
    for part, query in zip(_parts(queries), queries[chunk.kind], strict=True)
  ]
  return jnp.concatenate(blocks) + bias


def _dot(left: jax.Array, right: jax.Array, axes: tuple[int, int]) -> jax.Array:
  """Returns the product over one axis of each matrix, summed in float32."""
  precision = lax.Precision.HIGHEST if left.dtype == jnp.float32 else lax.Precision.DEFAULT
  numbers = (((axes[0],), (axes[1],)), ((), ()))
  return lax.dot_general(left, right, numbers, precision, preferred_element_type=jnp.float32)


def _rows(columns: list[jax.Array], factor: float, dtype: jax.typing.DTypeLike) -> jax.Array:
  """Returns the (H, Q), (H, T) or (H, S) of each head as one (Q, 128), (T, 128) or (S, 128)."""
  return (jnp.concatenate(columns) * factor).T.astype(dtype)


def _dropout_of_step(
  seeds, num_tokens: int, static: Static
) -> Callable[[QueryChunk, int], jax.Array]:
  """Returns the dropout mask (T, Q) of this grid step, as a function of chunk and head."""
  group = pl.program_id(0) * pl.num_programs(1) + pl.program_id(1)
  keys = key_hash(num_tokens)  # (ceil(T / 2), 1), uint32

  def keep_mask(chunk: QueryChunk, head: int) -> jax.Array:
    seed = seeds[group * len(static.heads) + head]
    return kept_where(keys, query_hash(seed, chunk.tokens), static.dropout_rate)

  return keep_mask


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
