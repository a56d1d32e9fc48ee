"""Ranks of the true head and tail of triples among all entities, and what they amount to.

Triple classification says true or false by a threshold of the distance, one for each relation.

Letters: C triples of a batch, Q = 2C queries, U rows of the table of entities, K their width.
"""

import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from luke_jax.errors import InputError
from luke_jax.graph.triples import Graph
from luke_jax.nn.layers import batch_axes
from luke_jax.systems.transe.records import KnownTriples
from luke_jax.training.task import State, Tree

# Up to so many rows for each id, marking them takes less time than sorting the ids: a twelfth on a
# CPU for a table of 15,000 rows. A mark is a hundredth or less of a row.
MARKED = 32
_UPDATED = ("trained", "moments")  # parts of a state


def unique_ids(ids: jax.Array, rows: int) -> tuple[jax.Array, jax.Array]:
  """Returns the different ids (n,) of a table in order, and the places of ids among them.

  n is the number of ids or of the table's rows, the smaller one; `rows` fills up.
  """
  most = min(ids.size, rows)
  if rows > MARKED * ids.size:
    return jnp.unique(ids, return_inverse=True, size=most, fill_value=rows)
  present = jnp.zeros(rows, jnp.int32).at[ids].set(1)
  places = jnp.cumsum(present) - 1
  unique = jnp.full(most, rows, ids.dtype)
  targets = jnp.where(present > 0, places, most)
  unique = unique.at[targets].set(jnp.arange(rows, dtype=ids.dtype), mode="drop")
  return unique, places[ids]


def rows_at(table: jax.Array, ids: jax.Array, axis: str | None) -> jax.Array:
  """Returns the rows of ids, the same on all devices; any row for ids that no row has."""

  def here(table: jax.Array, ids: jax.Array) -> jax.Array:
    if axis is None or jax.lax.axis_size(axis) == 1:  # a sum over one device is a copy
      return table.at[ids].get(mode="clip")
    rows = table.at[_places(table, ids, axis)].get(mode="fill", fill_value=0)
    return jax.lax.psum(rows, axis)

  return _mapped(here, axis, jax.P())(table, ids)


def with_rows(table: jax.Array, ids: jax.Array, rows: jax.Array, axis: str | None) -> jax.Array:
  """Returns a table with other rows at ids, of which each is named once or is no row's."""

  def here(table: jax.Array, ids: jax.Array, rows: jax.Array) -> jax.Array:
    return table.at[_places(table, ids, axis)].set(rows, mode="drop")

  return _mapped(here, axis, jax.P(axis))(table, ids, rows)


def _places(table: jax.Array, ids: jax.Array, axis: str | None) -> jax.Array:
  """Returns places of ids in this device's rows; those of other rows are beyond the last."""
  size = table.shape[0]
  local = ids if axis is None else ids - jax.lax.axis_index(axis) * size
  return jnp.where((local >= 0) & (local < size), local, size)


def _mapped(run: Callable, axis: str | None, output: jax.sharding.PartitionSpec) -> Callable:
  if not batch_axes():
    return run

  def mapped(table: jax.Array, *others: jax.Array) -> jax.Array:
    specs = (jax.P(axis), *[jax.P()] * len(others))
    return jax.shard_map(run, in_specs=specs, out_specs=output, check_vma=False)(table, *others)

  return mapped


@dataclasses.dataclass(frozen=True)
class Touched:
  """The rows of tables that a batch touches, to be updated in place of the tables."""

  ids: Mapping[str, jax.Array]  # by the end of the table's path
  axes: Mapping[str, str | None]  # of the mesh, over which a table's rows are spread

  def part(self, state: State) -> State:
    """Returns the state with the rows in place of the tables and of their moments."""

    def rows(name: str, table: jax.Array) -> jax.Array:
      return rows_at(table, self.ids[name], self.axes[name])

    return {**state, **{part: self._changed(rows, state[part]) for part in (*_UPDATED, "frozen")}}

  def whole(self, state: State, part: State) -> State:
    """Returns a state with tables, in which the rows of an updated part are written."""

    def table(name: str, before: jax.Array, rows: jax.Array) -> jax.Array:
      return with_rows(before, self.ids[name], rows, self.axes[name])

    updated = {name: self._changed(table, state[name], part[name]) for name in _UPDATED}
    return {**part, **updated, "frozen": state["frozen"]}

  def _changed(self, change: Callable[..., jax.Array], tree: Tree, *others: Tree) -> Tree:
    """Returns a tree whose tables, and arrays at paths that end in theirs, are changed.

    Others are those of the last tree.
    """

    def changed(path: tuple, *leaves: jax.Array) -> jax.Array:
      name = jax.tree_util.keystr(path, simple=True, separator="/")
      tables = [end for end in self.ids if f"/{name}".endswith(f"/{end}")]
      return change(tables[0], *leaves) if tables else leaves[-1]

    return jax.tree.map_with_path(changed, tree, *others)


BLOCK = 4096  # entities whose distances are in memory at once
BATCH = 64  # triples that are ranked at once
HITS = (1, 3, 10)
SIDES = ("head", "tail")
# Coordinates, or vectors, that one turn of a loop adds to its sums. So each sum is loaded and
# stored once for as many additions, and CPUs add vectors of numbers: XLA's own form of the
# derivative takes 27 times as long.
UNROLLED = 16
TINY = 1e-12  # the least squared distance, whose root has a derivative


def distances(queries: jax.Array, candidates: jax.Array, norm: int) -> jax.Array:
  """Returns the distances (C, N) of queries (C, K) from candidates (N, K).

  Its derivative holds no array of C x N x K numbers. L2 is a product of matrices.
  """
  if norm == 1:
    return _absolute(*(_whole_turns(x) for x in (queries, candidates)))
  products = jnp.matmul(queries, candidates.T, precision=jax.lax.Precision.HIGHEST)
  squares = jnp.square(queries).sum(-1)[:, None] + jnp.square(candidates).sum(-1) - 2 * products
  return jnp.sqrt(jnp.maximum(squares, TINY))


def pair_distances(differences: jax.Array, norm: int) -> jax.Array:
  """Returns the norms of vectors (..., K)."""
  if norm == 1:
    return jnp.abs(differences).sum(-1)
  return jnp.sqrt(jnp.maximum(jnp.square(differences).sum(-1), TINY))


def ranked_distances(queries: jax.Array, candidates: jax.Array, norm: int) -> jax.Array:
  """Returns numbers (C, N) in the order of the distances of queries (C, K) from candidates (N, K).

  Equal vectors have equal numbers, wherever they are: every sum is taken in the same order.
  """
  size = jnp.abs if norm == 1 else jnp.square
  queries, candidates = (_whole_turns(x) for x in (queries, candidates))
  return _summed(lambda q, e: size(q[:, None] - e[None]), queries.T, candidates.T)


def _whole_turns(vectors: jax.Array) -> jax.Array:
  """Returns vectors with zeros after them, up to two or more turns of the loop over coordinates.

  What is left over, and a single turn, XLA would put into each operation that reads the sums: it
  would be computed several times, and be rounded differently.
  """
  width = vectors.shape[1]
  turns = max(2, -(-width // UNROLLED))
  return jnp.pad(vectors, ((0, 0), (0, turns * UNROLLED - width)))


@jax.custom_vjp
def _absolute(queries: jax.Array, candidates: jax.Array) -> jax.Array:
  return _summed(lambda q, e: jnp.abs(q[:, None] - e[None]), queries.T, candidates.T)


def _absolute_backward(residuals: Any, gradient: jax.Array) -> tuple[jax.Array, jax.Array]:
  queries, candidates = residuals
  return _signed(queries, candidates, gradient.T), _signed(candidates, queries, gradient)


_absolute.defvjp(lambda *both: (_absolute(*both), both), _absolute_backward)


def _signed(vectors: jax.Array, others: jax.Array, weights: jax.Array) -> jax.Array:
  """Returns the sums (C, K) over others (N, K) of weights (N, C) with the signs of differences."""

  def term(other: jax.Array, weight: jax.Array) -> jax.Array:
    return jnp.where(vectors > other, weight[:, None], -weight[:, None])

  return _summed(term, others, weights)


def _summed(term: Callable, *arrays: jax.Array) -> jax.Array:
  """Returns the sum of `term` over the first axis of the arrays, one after another."""
  full, rest = divmod(len(arrays[0]), UNROLLED)
  shape = jax.eval_shape(term, *(x[0] for x in arrays))

  def add(total: jax.Array, parts: tuple) -> tuple[jax.Array, None]:
    terms = (term(*(x[i] for x in parts)) for i in range(len(parts[0])))
    return functools.reduce(jnp.add, terms, total), None

  total = jnp.zeros(shape.shape, shape.dtype)
  if full:
    blocks = tuple(x[: full * UNROLLED].reshape(full, UNROLLED, *x.shape[1:]) for x in arrays)
    total, _ = jax.lax.scan(add, total, blocks)
  return add(total, tuple(x[full * UNROLLED :] for x in arrays))[0] if rest else total


@dataclasses.dataclass(frozen=True)
class RankingSetting:
  """Settings of counting entities that are nearer than the true one."""

  norm: int  # 1 or 2
  entities: int  # without the rows that fill the table up
  axis: str | None = None  # of the mesh, over which the table's rows are spread


def counted(
  entity: jax.Array, relation: jax.Array, batch: Mapping[str, Any], setting: RankingSetting
) -> jax.Array:
  """Returns (C, 2, 2): for head and tail, the numbers of entities that are nearer and as near.

  The batch has `heads`, `relations`, `tails` (C,) and `bitmaps` (C, 2, bytes), whose entities are
  left out. The table (U, K) is streamed in blocks; rows from `setting.entities` on do not count.
  """
  axis = setting.axis if batch_axes() else None
  heads, tails = (rows_at(entity, batch[name], axis) for name in ("heads", "tails"))
  steps = relation[batch["relations"]]
  queries = jnp.stack([tails - steps, heads + steps], axis=1).reshape(-1, entity.shape[1])
  targets = jnp.stack([heads, tails], axis=1).reshape(queries.shape)
  ids = jnp.stack([batch["heads"], batch["tails"]], axis=1).reshape(-1)
  maps = batch["bitmaps"].reshape(len(ids), -1)
  run = functools.partial(_counted_here, dataclasses.replace(setting, axis=axis))
  if batch_axes():
    inputs = (jax.P(axis), *[jax.P()] * 4)
    run = jax.shard_map(run, in_specs=inputs, out_specs=jax.P(), check_vma=False)
  return run(entity, queries, targets, ids, maps).reshape(-1, 2, 2)


def _counted_here(
  setting: RankingSetting, table: Any, queries: Any, targets: Any, ids: Any, maps: Any
) -> jax.Array:
  """Counts for (Q, K) in this device's rows of the table, and adds up over the devices."""
  rows = table.shape[0]
  block = min(BLOCK, rows)
  first_row = 0 if setting.axis is None else jax.lax.axis_index(setting.axis) * rows

  def add(counts: jax.Array, number: jax.Array) -> tuple[jax.Array, None]:
    # The last block begins early enough to be whole; rows that it shares with another do not count.
    start = jnp.minimum(number * block, rows - block)
    place = start + jnp.arange(block)
    vectors = jax.lax.dynamic_slice_in_dim(table, start, block)
    # The true entity's distance is taken among the others', so that it is rounded as theirs are.
    near = ranked_distances(queries, jnp.concatenate([vectors, targets]), setting.norm)
    true, near = jnp.diagonal(near[:, block:])[:, None], near[:, :block]
    entity = first_row + place
    answer = maps[:, entity >> 3] >> (entity & 7).astype(jnp.uint8) & 1
    counts_here = (place >= number * block) & (entity < setting.entities)
    others = counts_here & (answer == 0) & (entity != ids[:, None])
    totals = [((near < true) & others).sum(1), ((near == true) & others).sum(1)]
    return counts + jnp.stack(totals, axis=1), None

  start = jnp.zeros((queries.shape[0], 2), jnp.int32)
  counts, _ = jax.lax.scan(add, start, jnp.arange(-(-rows // block)))
  return counts if setting.axis is None else jax.lax.psum(counts, setting.axis)


def map_bytes(entities: int) -> int:
  """Returns the length of a bitmap with a bit for each entity."""
  return -(-entities // 8)


def ranked_arrays(
  triples: np.ndarray, known: KnownTriples | None, entities: int
) -> dict[str, np.ndarray]:
  """Returns triples as `counted` takes them; without known ones the ranks are raw."""
  heads, relations, tails = np.ascontiguousarray(triples.T, np.int32)
  size = map_bytes(entities)
  bitmaps = np.zeros((len(triples), 2, size), np.uint8)
  if known is not None:
    bitmaps = known.bitmaps(triples, size)
  return {"heads": heads, "relations": relations, "tails": tails, "bitmaps": bitmaps}


def ranks(
  vectors: tuple[np.ndarray, np.ndarray], triples: np.ndarray, known: KnownTriples | None, norm: int
) -> np.ndarray:
  """Returns the realistic ranks (T, 2) of heads and tails by vectors of entities and relations."""
  entity, relation = (jnp.asarray(table, jnp.float32) for table in vectors)
  setting = RankingSetting(norm, len(entity))
  run = jax.jit(functools.partial(counted, setting=setting))
  counts = []
  for start in range(0, len(triples), BATCH):
    part = triples[start : start + BATCH]
    padded = np.concatenate([part, np.repeat(part[-1:], BATCH - len(part), axis=0)])
    batch = ranked_arrays(padded, known, len(entity))
    counts.append(np.asarray(run(entity, relation, batch))[: len(part)])
  return realistic(np.concatenate(counts))


def realistic(counts: np.ndarray) -> np.ndarray:
  """Returns the means of the best and the worst rank, from the counts of nearer and equal ones."""
  return 1 + counts[..., 0] + counts[..., 1] / 2


def metrics(ranks: np.ndarray) -> dict[str, float]:
  """Returns mean rank, mean reciprocal rank and Hits@k of ranks (T, 2), over both sides and apart.

  All but the mean ranks are shares from 0 to 1.
  """
  values = _metrics(ranks)
  for number, side in enumerate(SIDES):
    values |= {f"{name}_{side}": value for name, value in _metrics(ranks[:, number]).items()}
  return values


def _metrics(ranks: np.ndarray) -> dict[str, float]:
  hits = {f"hits_{k}": float((ranks <= k).mean()) for k in HITS}
  return {"mr": float(ranks.mean()), "mrr": float((1 / ranks).mean())} | hits


def triple_distances(
  vectors: tuple[np.ndarray, np.ndarray], triples: np.ndarray, norm: int
) -> np.ndarray:
  """Returns the distances |h + r - t| of triples (T, 3)."""
  (entity, relation), (heads, relations, tails) = vectors, triples.T
  differences = np.asarray(entity[heads]) + relation[relations] - entity[tails]
  return np.linalg.norm(np.asarray(differences, np.float32), norm, axis=1)


def corrupted(graph: Graph, triples: np.ndarray, seed: int) -> np.ndarray:
  """Returns for each triple one with another head or tail that is in no split."""
  rng, facts = np.random.default_rng(seed), KnownTriples(graph.all)
  false, remaining = triples.copy(), np.arange(len(triples))
  for _ in range(100):
    columns = rng.choice([0, 2], len(remaining))
    false[remaining] = triples[remaining]
    false[remaining, columns] = rng.integers(0, len(graph.entities), len(remaining))
    remaining = remaining[facts.contains(false[remaining])]
    if not len(remaining):
      return false
  raise InputError("negatives: every triple is true; expected some that are in no split")


def accuracy(
  valid: tuple[np.ndarray, np.ndarray, np.ndarray], test: tuple[np.ndarray, np.ndarray, np.ndarray]
) -> float:
  """Returns the share of test triples that thresholds chosen on valid classify correctly.

  Each split is relations, distances and truths (T,). A relation that valid lacks has the threshold
  of all relations.
  """
  relations, distances, truths = valid
  shared = best_threshold(distances, truths)
  thresholds = {
    relation: best_threshold(distances[relations == relation], truths[relations == relation])
    for relation in np.unique(relations)
  }
  limits = np.array([thresholds.get(relation, shared) for relation in test[0]])
  return float(((test[1] <= limits) == test[2]).mean())


def best_threshold(distances: np.ndarray, truths: np.ndarray) -> float:
  """Returns the distance up to which calling triples true is right most often."""
  order = np.argsort(distances)
  values, signs = distances[order], np.where(truths[order], 1, -1)
  right = np.concatenate([[0], np.cumsum(signs)])
  # Between equal distances there is no threshold.
  right[1:-1][values[1:] == values[:-1]] = np.iinfo(right.dtype).min
  place = int(right.argmax())
  edges = np.concatenate([[values[0] - 1], values, [values[-1] + 1]])
  return float((edges[place] + edges[place + 1]) / 2) if place else float(edges[0])
