"""Embedding lookups and losses over vocabularies that may be too large for one device.

The rows of a table are sharded over `axis` of the mesh, or whole on every device if it is None. A
sharded table is never moved: the tokens, which are smaller, are sent to it.

V stands for U too, and K for the width of any table. Letters beyond those of luke_jax.nn: R, the
states to score, of this device or, once gathered, of all devices that share a table; v, the rows of
a table on this device, V without sharding.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from luke_jax.nn.layers import batch_axes
from luke_jax.nn.losses import IGNORED

MASKED = -1e30
LOGITS_AT_ONCE = 2**25  # float32 numbers, 128 MiB


class _Sharding(NamedTuple):
  """Sharding of a table: its rows are split over `axis` and replicated over `others`."""

  axis: str | None
  others: tuple[str, ...]

  @classmethod
  def of(cls, axis: str | None) -> "_Sharding":
    axes = batch_axes()
    axis = axis if axis in axes else None
    return cls(axis, tuple(x for x in axes if x != axis))

  @property
  def table(self) -> jax.sharding.PartitionSpec:
    return jax.P(self.axis)

  def mapped(self, run: Callable, inputs: tuple, outputs: Any) -> Callable:
    """Maps `run` over the devices' shards, since XLA's partitioner would gather the table."""
    axes = batch_axes()
    return jax.shard_map(run, in_specs=inputs, out_specs=outputs, check_vma=False) if axes else run

  def gathered(self, x: jax.Array) -> jax.Array:
    """Returns the states or ids of all devices that share the table, (R, ...)."""
    return x if self.axis is None else lax.all_gather(x, self.axis, tiled=True)

  def scattered(self, x: jax.Array) -> jax.Array:
    """Sums the devices' parts of (R, ...), and returns the rows of this device."""
    return x if self.axis is None else lax.psum_scatter(x, self.axis, tiled=True)

  def own(self, x: jax.Array, rows: int) -> jax.Array:
    """Returns the `rows` of this device from x (R,), which is the same on all devices."""
    if self.axis is None:
      return x
    return lax.dynamic_slice(x, (lax.axis_index(self.axis) * rows,), (rows,))

  def across(self, combine: Callable, x: jax.Array) -> jax.Array:
    """Combines the results of the table's shards by `lax.psum` or `lax.pmax`."""
    return x if self.axis is None else combine(x, self.axis)

  def total(self, x: jax.Array) -> jax.Array:
    """Sums gradients of the table over its replicas."""
    return lax.psum(x, self.others) if self.others else x

  def local(self, ids: jax.Array, rows: int) -> tuple[jax.Array, jax.Array]:
    """Returns indices of ids in this device's rows of the table, and which ids are in them."""
    first = 0 if self.axis is None else lax.axis_index(self.axis) * rows
    here = (ids >= first) & (ids < first + rows)
    return jnp.where(here, ids - first, 0), here

  def one_hot(self, labels: jax.Array, rows: int) -> jax.Array:
    """Returns the one-hot labels (R, v) in this device's rows of the table, as bool."""
    local, here = self.local(labels, rows)
    return (jnp.arange(rows) == local[:, None]) & here[:, None]


def rows_of(
  table: Float[Array, "V K"],
  ids: Int[Array, "*tokens"],
  dtype: jax.typing.DTypeLike | None,
  axis: str | None = None,
) -> Float[Array, "*tokens K"]:
  """Returns rows of a table as `dtype`.

  The gradient of a row that several tokens share is summed in float32.
  """
  return _rows(dtype, _Sharding.of(axis), table, ids)


@functools.partial(jax.custom_vjp, nondiff_argnums=(0, 1))
def _rows(dtype, sharding, table, ids):
  return _rows_forward(dtype, sharding, table, ids)[0]


def _rows_forward(dtype, sharding, table, ids):
  def look_up(table, ids):
    # (v, K) and ids (B, ...) -> (B, ..., K); zero where another device has the row, so that the
    # sum over devices is the row. Not len(table): literals of older JAX have no length.
    local, here = sharding.local(sharding.gathered(ids), table.shape[0])
    return sharding.scattered(jnp.where(here[..., None], table[local], 0))

  batch = jax.P(batch_axes())
  # Cast first, so that rows are exchanged in the narrower dtype.
  rows = sharding.mapped(look_up, (sharding.table, batch), batch)(table.astype(dtype), ids)
  return rows, (table, ids)


def _rows_backward(dtype, sharding, residuals, d_rows):
  table, ids = residuals

  def scatter(table, ids, d_rows):
    # d_rows (B, ..., K) -> (v, K), summed in float32.
    local, here = sharding.local(sharding.gathered(ids), table.shape[0])
    d_rows = jnp.where(here[..., None], sharding.gathered(d_rows), 0).astype(jnp.float32)
    return sharding.total(jnp.zeros(table.shape, jnp.float32).at[local].add(d_rows))

  batch = jax.P(batch_axes())
  inputs = (sharding.table, batch, batch)
  d_table = sharding.mapped(scatter, inputs, sharding.table)(table, ids, d_rows)
  return d_table.astype(table.dtype), None


_rows.defvjp(_rows_forward, _rows_backward)


class Scores(NamedTuple):
  """Losses of labels, and whether they have the highest logit."""

  losses: Float[Array, "*R"]  # cross-entropies in nats, float32; 0 where the label is -100
  hits: Bool[Array, "*R"]  # no other entry of the vocabulary has a higher logit


def token_scores(
  states: Float[Array, "R K"],
  table: Float[Array, "V K"],
  bias: Float[Array, " V"],
  labels: Int[Array, " R"],
  *,
  size: int | None = None,
  axis: str | None = None,
) -> Scores:
  """Returns scores of labels, for states against a table and a bias.

  Only the first `size` rows of a padded table count. Every device scores its shard of the
  vocabulary, a chunk of states at a time, and recomputes the logits in the backward pass.
  """
  return Scores(*_scores(size or table.shape[0], _Sharding.of(axis), states, table, bias, labels))


@functools.partial(jax.custom_vjp, nondiff_argnums=(0, 1))
def _scores(size, sharding, states, table, bias, labels):
  return _scores_forward(size, sharding, states, table, bias, labels)[0]


def _scores_forward(size, sharding, states, table, bias, labels):
  def score(states, table, bias, labels):
    bias = _masked(bias, size, sharding)  # (v,), float32

    def chunk(_, part):
      # Logits (r, v) of r states of a chunk, float32; the label's logit, the highest one and the
      # sum of exponentials (r,) are combined over the shards of the table.
      states, labels = part
      logits = _logits(states, table, bias)
      of_label = jnp.where(sharding.one_hot(labels, table.shape[0]), logits, 0.0).sum(-1)
      highest = sharding.across(lax.pmax, logits.max(-1))
      total = sharding.across(lax.psum, jnp.exp(logits - highest[:, None]).sum(-1))
      of_label = sharding.across(lax.psum, of_label)
      return None, (highest + jnp.log(total), of_label, of_label >= highest)

    # (R, ...) of all devices that share the table; afterwards this device's part of the results.
    tokens = sharding.gathered(states), sharding.gathered(labels)
    results = _scan(chunk, None, tokens, table.shape)[1]
    log_sums, of_label, hits = (sharding.own(x, len(labels)) for x in results)
    valid = labels != IGNORED
    return jnp.where(valid, log_sums - of_label, 0.0), hits & valid, log_sums

  batch = jax.P(batch_axes())
  inputs = (batch, sharding.table, sharding.table, batch)
  run = sharding.mapped(score, inputs, (batch, batch, batch))
  losses, hits, log_sums = run(states, table.astype(states.dtype), bias, labels)
  return (losses, hits), (states, table, bias, labels, log_sums)


def _scores_backward(size, sharding, residuals, d_scores):
  states, table, bias, labels, log_sums = residuals
  d_losses, _ = d_scores

  def gradients(table, bias, *tokens):
    bias = _masked(bias, size, sharding)  # (v,), float32

    def chunk(sums, part):
      # (r, v), float32: probabilities from the log sums, less the one-hot labels. Operands of the
      # products have the dtype of the states; sums over chunks are (v, K) and (v,), float32.
      states, labels, log_sums, d_losses = part
      probabilities = jnp.exp(_logits(states, table, bias) - log_sums[:, None])
      d_logits = (probabilities - sharding.one_hot(labels, table.shape[0])) * d_losses[:, None]
      narrow = d_logits.astype(states.dtype)
      d_table = sums[0] + jnp.dot(narrow.T, states, preferred_element_type=jnp.float32)
      d_states = jnp.dot(narrow, table, preferred_element_type=jnp.float32)
      return (d_table, sums[1] + d_logits.sum(0)), d_states

    # d_states (R, K) is summed over the shards of the table; each device gets its own states'.
    zeros = jnp.zeros(table.shape, jnp.float32), jnp.zeros(bias.shape, jnp.float32)
    tokens = jax.tree.map(sharding.gathered, tokens)
    sums, d_states = _scan(chunk, zeros, tokens, table.shape)
    return *map(sharding.total, sums), sharding.scattered(d_states).astype(states.dtype)

  batch = jax.P(batch_axes())
  inputs = (sharding.table, sharding.table, batch, batch, batch, batch)
  run = sharding.mapped(gradients, inputs, (sharding.table, sharding.table, batch))
  d_losses = jnp.where(labels == IGNORED, 0.0, d_losses)
  d_table, d_bias, d_states = run(
    table.astype(states.dtype), bias, states, labels, log_sums, d_losses
  )
  return d_states, d_table.astype(table.dtype), d_bias.astype(bias.dtype), None


_scores.defvjp(_scores_forward, _scores_backward)


def _logits(
  states: Float[Array, "r K"], table: Float[Array, "v K"], bias: Float[Array, " v"]
) -> Float[Array, "r v"]:
  return jnp.dot(states, table.T, preferred_element_type=jnp.float32) + bias


def _masked(bias: Float[Array, " v"], size: int, sharding: _Sharding) -> Float[Array, " v"]:
  """Returns the bias as float32, with rows beyond `size` of the whole table masked."""
  first = 0 if sharding.axis is None else lax.axis_index(sharding.axis) * len(bias)
  return jnp.where(first + jnp.arange(len(bias)) < size, bias.astype(jnp.float32), MASKED)


def _scan(run: Callable, carry: object, tokens: object, table: tuple[int, int]) -> tuple[Any, Any]:
  """Runs `lax.scan` over chunks of arrays (R, ...), padded to whole chunks.

  `table` is the shape (v, K) of this device's rows.
  """
  count, (vocabulary, width) = len(jax.tree.leaves(tokens)[0]), table
  # Every chunk reads and writes the gradient of the table, (v, K) numbers. With at least K states a
  # chunk, whose logits are as many, that is a small part of the work.
  chunks = -(-count // max(width, LOGITS_AT_ONCE // vocabulary))
  chunk = -(-count // chunks)
  parts = jax.tree.map(lambda x: _chunked(x, chunks, chunk), tokens)
  carry, outputs = lax.scan(run, carry, parts)
  return carry, jax.tree.map(lambda x: x.reshape(chunks * chunk, *x.shape[2:])[:count], outputs)


def _chunked(x: jax.Array, chunks: int, chunk: int) -> jax.Array:
  # A padded row has a gradient of 0, so its label may be anything.
  x = jnp.pad(x, [(0, chunks * chunk - len(x)), *[(0, 0)] * (x.ndim - 1)])
  return x.reshape(chunks, chunk, *x.shape[1:])
