"""Looking up and scoring vocabularies that may be too long for one device.

The rows of a table live where `axis` of the mesh puts them, or whole on every device if it is
None. Nothing here moves a table that is spread: the tokens, few and narrow, travel to it.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from luke_jax.nn.layers import batch_axes
from luke_jax.nn.losses import IGNORED

MASKED = -1e30
LOGITS_AT_ONCE = 2**25  # 128 MiB


class _Place(NamedTuple):
  """Where rows of a table are: spread over `axis`, the same along the `others`."""

  axis: str | None
  others: tuple[str, ...]

  @classmethod
  def of(cls, axis: str | None) -> "_Place":
    axes = batch_axes()
    axis = axis if axis in axes else None
    return cls(axis, tuple(x for x in axes if x != axis))

  @property
  def spread(self) -> jax.sharding.PartitionSpec:
    return jax.P(self.axis)

  def mapped(self, run: Callable, inputs: tuple, outputs: Any) -> Callable:
    """Runs on every device's own part; the partitioner would gather the table."""
    axes = batch_axes()
    return jax.shard_map(run, in_specs=inputs, out_specs=outputs, check_vma=False) if axes else run

  def gathered(self, x: jax.Array) -> jax.Array:
    """The rows of all devices that share the table."""
    return x if self.axis is None else lax.all_gather(x, self.axis, tiled=True)

  def scattered(self, x: jax.Array) -> jax.Array:
    """Sums parts of all rows and leaves every device its own."""
    return x if self.axis is None else lax.psum_scatter(x, self.axis, tiled=True)

  def own(self, x: jax.Array, rows: int) -> jax.Array:
    """This device's rows of what is known of all."""
    if self.axis is None:
      return x
    return lax.dynamic_slice(x, (lax.axis_index(self.axis) * rows,), (rows,))

  def across(self, combine: Callable, x: jax.Array) -> jax.Array:
    """Combines what the parts of the table gave."""
    return x if self.axis is None else combine(x, self.axis)

  def total(self, x: jax.Array) -> jax.Array:
    """Sums gradients over the copies of the table."""
    return lax.psum(x, self.others) if self.others else x

  def local(self, ids: jax.Array, rows: int) -> tuple[jax.Array, jax.Array]:
    """Places of ids among this device's rows, and which of them are here."""
    first = 0 if self.axis is None else lax.axis_index(self.axis) * rows
    here = (ids >= first) & (ids < first + rows)
    return jnp.where(here, ids - first, 0), here

  def marked(self, labels: jax.Array, rows: int) -> jax.Array:
    """True at each label's row, (labels, rows)."""
    local, here = self.local(labels, rows)
    return (jnp.arange(rows) == local[:, None]) & here[:, None]


def rows_of(table: jax.Array, ids: jax.Array, dtype: Any, axis: str | None = None) -> jax.Array:
  """Rows (..., K) of table (V, K) in the arithmetic's type; ids (B, ...).

  The gradient of a row that many tokens share is summed in float32.
  """
  return _rows(dtype, _Place.of(axis), table, ids)


@functools.partial(jax.custom_vjp, nondiff_argnums=(0, 1))
def _rows(dtype, place, table, ids):
  return _rows_forward(dtype, place, table, ids)[0]


def _rows_forward(dtype, place, table, ids):
  def look_up(table, ids):
    # Not len(): the arrays that older JAX keeps as literals have none.
    local, here = place.local(place.gathered(ids), table.shape[0])
    return place.scattered(jnp.where(here[..., None], table[local], 0))

  batch = jax.P(batch_axes())
  # Cast first: what then travels is narrow.
  rows = place.mapped(look_up, (place.spread, batch), batch)(table.astype(dtype), ids)
  return rows, (table, ids)


def _rows_backward(dtype, place, residuals, d_rows):
  table, ids = residuals

  def scatter(table, ids, d_rows):
    local, here = place.local(place.gathered(ids), table.shape[0])
    d_rows = jnp.where(here[..., None], place.gathered(d_rows), 0).astype(jnp.float32)
    return place.total(jnp.zeros(table.shape, jnp.float32).at[local].add(d_rows))

  batch = jax.P(batch_axes())
  inputs = (place.spread, batch, batch)
  d_table = place.mapped(scatter, inputs, place.spread)(table, ids, d_rows)
  return d_table.astype(table.dtype), None


_rows.defvjp(_rows_forward, _rows_backward)


class Scores(NamedTuple):
  """How well labels are predicted."""

  losses: jax.Array  # cross-entropies, float32; 0 where the label is -100
  hits: jax.Array  # whether no other entry of the vocabulary scores higher than the label


def token_scores(
  rows: jax.Array,
  table: jax.Array,
  bias: jax.Array,
  labels: jax.Array,
  *,
  size: int | None = None,
  axis: str | None = None,
) -> Scores:
  """Scores (R,) of the labels of rows (R, K) against a table (V, K) and its bias (V,).

  Of a padded table the first `size` rows count. Every device scores its part of the vocabulary,
  a chunk of rows at a time, and makes the logits again in the backward pass.
  """
  return Scores(*_scores(size or table.shape[0], _Place.of(axis), rows, table, bias, labels))


@functools.partial(jax.custom_vjp, nondiff_argnums=(0, 1))
def _scores(size, place, rows, table, bias, labels):
  return _scores_forward(size, place, rows, table, bias, labels)[0]


def _scores_forward(size, place, rows, table, bias, labels):
  def score(rows, table, bias, labels):
    bias = _masked(bias, size, place)

    def chunk(_, part):
      rows, labels = part
      logits = _logits(rows, table, bias)
      found = jnp.where(place.marked(labels, table.shape[0]), logits, 0.0).sum(-1)
      highest = place.across(lax.pmax, logits.max(-1))
      total = place.across(lax.psum, jnp.exp(logits - highest[:, None]).sum(-1))
      found = place.across(lax.psum, found)
      return None, (highest + jnp.log(total), found, found >= highest)

    tokens = place.gathered(rows), place.gathered(labels)
    found = _scan(chunk, None, tokens, table.shape)[1]
    log_sums, found, hits = (place.own(x, len(labels)) for x in found)
    asked = labels != IGNORED
    return jnp.where(asked, log_sums - found, 0.0), hits & asked, log_sums

  batch = jax.P(batch_axes())
  inputs = (batch, place.spread, place.spread, batch)
  run = place.mapped(score, inputs, (batch, batch, batch))
  losses, hits, log_sums = run(rows, table.astype(rows.dtype), bias, labels)
  return (losses, hits), (rows, table, bias, labels, log_sums)


def _scores_backward(size, place, residuals, d_scores):
  rows, table, bias, labels, log_sums = residuals
  d_losses, _ = d_scores

  def gradients(table, bias, *tokens):
    bias = _masked(bias, size, place)

    def chunk(sums, part):
      rows, labels, log_sums, d_losses = part
      probabilities = jnp.exp(_logits(rows, table, bias) - log_sums[:, None])
      d_logits = (probabilities - place.marked(labels, table.shape[0])) * d_losses[:, None]
      narrow = d_logits.astype(rows.dtype)
      d_table = sums[0] + jnp.dot(narrow.T, rows, preferred_element_type=jnp.float32)
      d_rows = jnp.dot(narrow, table, preferred_element_type=jnp.float32)
      return (d_table, sums[1] + d_logits.sum(0)), d_rows

    zeros = jnp.zeros(table.shape, jnp.float32), jnp.zeros(bias.shape, jnp.float32)
    tokens = jax.tree.map(place.gathered, tokens)
    sums, d_rows = _scan(chunk, zeros, tokens, table.shape)
    return *map(place.total, sums), place.scattered(d_rows).astype(rows.dtype)

  batch = jax.P(batch_axes())
  inputs = (place.spread, place.spread, batch, batch, batch, batch)
  run = place.mapped(gradients, inputs, (place.spread, place.spread, batch))
  d_losses = jnp.where(labels == IGNORED, 0.0, d_losses)
  d_table, d_bias, d_rows = run(table.astype(rows.dtype), bias, rows, labels, log_sums, d_losses)
  return d_rows, d_table.astype(table.dtype), d_bias.astype(bias.dtype), None


_scores.defvjp(_scores_forward, _scores_backward)


def _logits(rows: jax.Array, table: jax.Array, bias: jax.Array) -> jax.Array:
  return jnp.dot(rows, table.T, preferred_element_type=jnp.float32) + bias


def _masked(bias: jax.Array, size: int, place: _Place) -> jax.Array:
  """The bias of this device's rows, such that rows beyond `size` get no probability."""
  first = 0 if place.axis is None else lax.axis_index(place.axis) * len(bias)
  return jnp.where(first + jnp.arange(len(bias)) < size, bias.astype(jnp.float32), MASKED)


def _scan(run: Callable, carry: Any, tokens: Any, table: tuple[int, int]) -> tuple[Any, Any]:
  """`lax.scan` over chunks of the tokens' rows, which it pads with what asks for nothing."""
  rows, (vocabulary, width) = len(jax.tree.leaves(tokens)[0]), table
  # Every chunk reads and writes the gradient of the table: logits may be as large as that.
  chunks = -(-rows // max(width, LOGITS_AT_ONCE // vocabulary))
  chunk = -(-rows // chunks)
  parts = jax.tree.map(lambda x: _chunked(x, chunks, chunk), tokens)
  carry, outputs = lax.scan(run, carry, parts)
  return carry, jax.tree.map(lambda x: x.reshape(chunks * chunk, *x.shape[2:])[:rows], outputs)


def _chunked(x: jax.Array, chunks: int, chunk: int) -> jax.Array:
  # A padded row has a gradient of 0, so its label may be anything.
  x = jnp.pad(x, [(0, chunks * chunk - len(x)), *[(0, 0)] * (x.ndim - 1)])
  return x.reshape(chunks, chunk, *x.shape[1:])
