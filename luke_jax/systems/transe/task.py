"""TransE's training as a task of the engine, the recipe for a graph, and the vectors of a run.

Letters: B chunks of a batch, C triples and N negatives of a chunk, K the width of a vector.
"""

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

import jax
import jax.numpy as jnp
import numpy as np

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.graph.triples import Graph, graph_files, read_false, read_graph
from luke_jax.graph.vectors import PARTS, Vectors, open_vectors, write_vectors
from luke_jax.models.config_files import check_fields
from luke_jax.models.system import Backbone
from luke_jax.nn.layers import batch_axes
from luke_jax.pipeline.batches import Data
from luke_jax.pipeline.reads import Reads
from luke_jax.systems.transe import TransEConfig, ranking
from luke_jax.systems.transe.ranking import Touched, distances, pair_distances, unique_ids
from luke_jax.systems.transe.records import (
  IDS,
  Chunks,
  Drawing,
  GraphSource,
  KnownTriples,
  TripleChunk,
  read_source,
  training_row,
)
from luke_jax.training.experiment import Experiment, Run
from luke_jax.training.export import read_run
from luke_jax.training.loop import Summary
from luke_jax.training.optimizer import Optimizer, Schedule
from luke_jax.training.task import Batch, Params, State, Task, Tree, Update
from luke_jax.training.update import AVERAGE

LossName = Literal["self_adversarial", "margin", "softmax"]
FAR = -1e9  # the score of a negative that is a known triple


@dataclasses.dataclass(frozen=True)
class Loss:
  """A loss by its name, with the norm of its distances."""

  name: LossName
  margin: float
  temperature: float
  norm: int


def each_loss(
  loss: Loss, positive: jax.Array, negative: jax.Array, is_known: jax.Array
) -> jax.Array:
  """Returns the loss of each triple (C,), from its distance and those of its negatives (C, N).

  Negatives that are known triples are left out.
  """
  if loss.name == "self_adversarial":  # Sun et al. 2019, equations 5 and 6
    scores = loss.margin - negative
    weights = jax.nn.softmax(jnp.where(is_known, FAR, loss.temperature * scores), axis=-1)
    weights = jax.lax.stop_gradient(jnp.where(is_known, 0, weights))
    far = -(weights * jax.nn.log_sigmoid(-scores)).sum(-1)
    return (far - jax.nn.log_sigmoid(loss.margin - positive)) / 2
  if loss.name == "margin":  # Bordes et al. 2013, equation 1
    terms = jnp.where(is_known, 0, jax.nn.relu(loss.margin + positive[:, None] - negative))
    return terms.sum(-1) / jnp.maximum((~is_known).sum(-1), 1)
  scores = jnp.concatenate([-positive[:, None], jnp.where(is_known, FAR, -negative)], axis=-1)
  return jax.nn.logsumexp(scores, axis=-1) + positive


Arrays = tuple[jax.Array, jax.Array, jax.Array]  # distances, queries and negatives


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def total_loss(loss: Loss, vectors: Arrays, weights: jax.Array, is_known: jax.Array) -> jax.Array:
  """Returns the weighted sum of the losses of all chunks.

  `vectors` are the distances of true triples (B, C), the queries (B, C, K) and their negatives
  (B, N, K); weights are (B, C), known ones (B, C, N).
  """
  return _forward(loss, vectors, weights, is_known)[0]


def _forward(loss: Loss, vectors: Arrays, weights: jax.Array, is_known: jax.Array) -> tuple:
  """Returns the sum, and its derivative by the vectors.

  One chunk after another, each forward and backward while it is in a CPU's cache.
  """

  def chunk(vectors: Arrays, weights: jax.Array, is_known: jax.Array) -> jax.Array:
    positive, queries, negatives = vectors
    negative = distances(queries, negatives, loss.norm)
    return (weights * each_loss(loss, positive, negative, is_known)).sum()

  def here(*arrays: object) -> tuple:
    return jax.lax.map(lambda parts: jax.value_and_grad(chunk)(*parts), arrays)

  if axes := batch_axes():
    here = jax.shard_map(here, in_specs=jax.P(axes), out_specs=jax.P(axes), check_vma=False)
  losses, gradients = here(vectors, weights, is_known)
  return losses.sum(), gradients


def _backward(_: Loss, gradients: tuple, cotangent: jax.Array) -> tuple:
  return jax.tree.map(lambda x: cotangent * x, gradients), None, None


total_loss.defvjp(_forward, _backward)


@dataclasses.dataclass(frozen=True)
class LinkPrediction(Task):
  """Tells true triples from ones with another head or tail, which the triples of a chunk share.

  A row of a batch is a chunk. The defaults are the recipe of Sun et al. (2019) for FB15k-237.
  """

  graph: str = ""  # folder of OpenKE, folder of train.txt, valid.txt and test.txt, or one file
  objective: LossName = "self_adversarial"
  margin: float = 9.0  # distance at which a triple is as good as not
  temperature: float = 1.0  # of the weights of negatives, for self_adversarial
  # Heads and tails are replaced as often, or the side with more true answers more often.
  corruption: Literal["unif", "bern"] = "unif"
  chunk: int = 256  # triples that share negatives
  negatives: int = 256  # entities that stand in for the heads or tails of a chunk
  weighted: bool = True  # triples of frequent pairs count for less
  unit_ball: bool = False  # vectors start short, and are cut to length 1 after each step
  dev_triples: int = 5000  # at most, that are scored in a run
  dev_chunk: int = 64  # triples that are ranked at once

  name: ClassVar[str] = "links"

  def __post_init__(self) -> None:
    check_fields(self)

  @property
  def source(self) -> GraphSource:
    """Returns the graph and what is looked up in it."""
    return read_source(self.graph)

  def reads(self) -> Reads:
    """Returns the files of the graph."""
    return Reads(tuple(map(str, graph_files(Path(self.graph)))))

  def initial_params(self, backbone: Backbone, key: jax.Array) -> dict[str, jax.Array]:
    """Returns uniform vectors up to (margin + 2) / K, or short ones for a unit ball."""
    config, keys = backbone.config, jax.random.split(key)
    width, rows = config.hidden_size, backbone.spread.padding_rows
    sizes = {"entity": config.entity_vocab_size + rows, "relation": config.relation_vocab_size}
    most = 6 / width**0.5 if self.unit_ball else (self.margin + 2) / width
    return {
      name: self.bounded_rows(
        jax.random.uniform(table_key, (size, width), minval=-most, maxval=most)
      )
      for table_key, (name, size) in zip(keys, sizes.items(), strict=True)
    }

  def updated(
    self, backbone: Backbone, state: State, batch: Batch, update: Update
  ) -> tuple[State, dict[str, jax.Array]]:
    """Returns the state after an update of the rows that a batch touches, and metrics."""
    if AVERAGE in state:
      raise InputError("optimizer.average: expected null, as steps change a few rows only")
    ids, local = self._touched(backbone, batch)
    spread = backbone.config.layout.entities
    touched = Touched(ids, {name: backbone.spread.axis if name in spread else None for name in ids})
    part, metrics = update(touched.part(state), local)
    bounded = {name: self.bounded_rows(rows) for name, rows in part["trained"].items()}
    return touched.whole(state, {**part, "trained": bounded}), metrics

  def _touched(
    self, backbone: Backbone, batch: Batch
  ) -> tuple[dict[str, jax.Array], dict[str, jax.Array]]:
    """Returns the rows that a batch reads, by table, and the batch with their places for ids.

    Each row is there once; ids beyond the last fill up.
    """
    sizes = {
      "entity": backbone.config.entity_vocab_size + backbone.spread.padding_rows,
      "relation": backbone.config.relation_vocab_size,
    }
    names = {"entity": ("heads", "tails", "negatives"), "relation": ("relations",)}
    rows, places = {}, {}
    for table, size in sizes.items():
      ids = jnp.concatenate([batch[name].ravel() for name in names[table]])
      rows[table], inverse = unique_ids(ids, size)
      ends = np.cumsum([batch[name].size for name in names[table]])[:-1]
      for name, part in zip(names[table], jnp.split(inverse, ends), strict=True):
        places[name] = part.reshape(batch[name].shape)
    return rows, {**batch, **places}

  def bounded_rows(self, rows: jax.Array) -> jax.Array:
    """Returns vectors of which those longer than 1 are cut to 1, if that is asked for."""
    if not self.unit_ball:
      return rows
    return rows / jnp.maximum(jnp.linalg.norm(rows, axis=-1, keepdims=True), 1)

  def weights(self, batch: Batch) -> jax.Array:
    """Returns the shares of the triples in the loss (B, C), 0 for those that fill a chunk up."""
    return batch["weights"] / jnp.maximum(batch["weights"].sum(), 1e-12)

  def loss(
    self, backbone: Backbone, params: Params, batch: Batch, weights: Tree, key: jax.Array | None
  ) -> tuple[jax.Array, dict[str, jax.Array]]:
    """Returns the weighted loss of the rows that a batch touches, and its number of triples."""
    norm = backbone.config.norm
    heads, tails = params["entity"][batch["heads"]], params["entity"][batch["tails"]]
    steps = params["relation"][batch["relations"]]
    queries = jnp.where(batch["replace_head"][..., None], tails - steps, heads + steps)
    positive = pair_distances(heads + steps - tails, norm)
    vectors = positive, queries, params["entity"][batch["negatives"]]
    loss = Loss(self.objective, self.margin, self.temperature, norm)
    return total_loss(loss, vectors, weights, batch["known"]), {"tokens": (weights > 0).sum()}

  def records(self, backbone: Backbone, split: str) -> Chunks:
    """Returns the chunks of "train", or of "dev": triples of valid, or some of train without it."""
    config, source = backbone.config, self.source
    for name, size, count in (
      ("entity_vocab_size", config.entity_vocab_size, source.entities),
      ("relation_vocab_size", config.relation_vocab_size, len(source.graph.relations)),
    ):
      if size != count:
        raise InputError(f"model.{name}: {size}; expected {count}, as {self.graph} has")
    if split == "train":
      return Chunks(split, len(source.weights), self.chunk)
    return Chunks(split, len(self._scored), self.dev_chunk)

  @property
  def _drawing(self) -> Drawing:
    return Drawing(self.negatives, self.corruption, self.weighted)

  @property
  def _scored(self) -> np.ndarray:
    """Returns the triples that are scored in a run."""
    return self.source.dev_triples(self.dev_triples)

  def row_shapes(self, backbone: Backbone) -> dict[str, jax.ShapeDtypeStruct]:
    """Returns the shapes of a chunk of training triples."""
    return self._drawing.shapes(self.chunk)

  def evaluation_row_shapes(self, backbone: Backbone) -> dict[str, jax.ShapeDtypeStruct]:
    """Returns the shapes of a chunk of triples that are ranked."""
    chunk, size = self.dev_chunk, ranking.map_bytes(backbone.config.entity_vocab_size)
    ids = dict.fromkeys(IDS, jax.ShapeDtypeStruct((chunk,), np.int32))
    return ids | {"bitmaps": jax.ShapeDtypeStruct((chunk, 2, size), np.uint8)}

  def rows(
    self, backbone: Backbone, records: Sequence[TripleChunk], rngs: Sequence[np.random.Generator]
  ) -> dict[str, np.ndarray]:
    """Returns chunks with their negatives, or with the entities that ranks leave out."""
    if records[0].split == "train":
      parts = [
        training_row(self.source, chunk, self._drawing, rng)
        for chunk, rng in zip(records, rngs, strict=True)
      ]
    else:
      triples, true_triples = self._scored, self.source.all_known
      parts = [
        ranking.ranked_arrays(triples[chunk.numbers], true_triples, self.source.entities)
        for chunk in records
      ]
    return {name: np.stack([part[name] for part in parts]) for name in parts[0]}

  def predict(
    self, backbone: Backbone, params: dict[str, jax.Array], batch: Mapping[str, jax.Array]
  ) -> jax.Array:
    """Returns the numbers of nearer and of equally near entities, (B, C, 2, 2)."""
    config, axis = backbone.config, backbone.spread.axis
    setting = ranking.RankingSetting(config.norm, config.entity_vocab_size, axis)
    rows, size = batch["heads"].shape
    flat = {name: x.reshape(rows * size, *x.shape[2:]) for name, x in batch.items()}
    counts = ranking.counted(params["entity"], params["relation"], flat, setting)
    return counts.reshape(rows, size, 2, 2)

  def score(self, records: Chunks, predictions: np.ndarray) -> dict[str, float]:
    """Returns filtered mean ranks, and shares of ranks up to 1, 3 and 10."""
    numbers = np.stack([records[index].numbers for index in range(len(records))])
    return ranking.metrics(ranking.realistic(predictions[numbers >= 0]))


VECTORS = "vectors"  # in a run's folder
NEGATIVES = "{}_negatives.txt"  # false triples beside a split, as CoDEx has them


def graph_experiment(place: Path) -> Experiment:
  """Returns the recipe for a graph, of a size that a CPU trains in minutes."""
  source = read_source(str(place))
  return Experiment(
    model=TransEConfig(source.entities, len(source.graph.relations), hidden_size=128),
    task=LinkPrediction(graph=str(place), chunk=128),
    data=Data(batch_size=8, evaluation_batch_size=1),
    optimizer=adam(learning_rate=1e-2),
    schedule=Schedule(warmup_ratio=0.0),
    run=Run(epochs=100, best_metric="mrr"),
  )


def adam(learning_rate: float) -> Optimizer:
  """Returns Adam as the recipe's authors have it: without decay of weights."""
  return Optimizer(learning_rate, 0.9, 0.999, 1e-8, weight_decay=0.0, bias_correction=True)


def write_run_vectors(folder: Path, experiment: Experiment, *, text: bool) -> Path:
  """Writes the vectors of a run's best checkpoint into its folder; returns their place."""
  if not isinstance(experiment.task, LinkPrediction):
    kind = type(experiment.task).__name__
    raise InputError(f"task: {kind}; expected LinkPrediction, whose run has vectors of a graph")
  _, step, params = read_run(folder, experiment)
  graph = read_source(experiment.task.graph).graph
  ids = (graph.entities, graph.relations)
  vectors = [
    Vectors(names, np.asarray(params[part])) for names, part in zip(ids, PARTS, strict=True)
  ]
  config = {"model": "transe", "norm": experiment.model.norm, "step": step}
  write_vectors(folder / VECTORS, (vectors[0], vectors[1]), config, text=text)
  return folder / VECTORS


def evaluate(
  place: Path, folder: Path, norm: int, *, split: str = "test", raw: bool = False
) -> Summary:
  """Returns the ranks' metrics of a split of a graph, by the vectors of a folder.

  With a valid split also the accuracy of telling true from false triples.
  """
  graph = read_graph(place)
  triples = graph.split(split)
  vectors = graph_vectors(graph, folder)
  facts = None if raw else KnownTriples(graph.all)
  scores = ranking.metrics(ranking.ranks(vectors, triples, facts, norm))
  if split == "test" and len(graph.splits.get("valid", ())):
    scores["classification"] = _accuracy(graph, place, vectors, norm)
  return scores


def graph_vectors(graph: Graph, folder: Path) -> tuple[np.ndarray, np.ndarray]:
  """Returns the vectors of a graph's entities and relations, in the order of its ids."""
  opened = [open_vectors(folder, part) for part in PARTS]
  names = (graph.entities, graph.relations)
  tables = [vectors.rows(list(ids)) for vectors, ids in zip(opened, names, strict=True)]
  if tables[0].shape[1] != tables[1].shape[1]:
    widths = " and ".join(str(table.shape[1]) for table in tables)
    raise InputError(f"{folder}: entities and relations are {widths} wide; expected the same width")
  return tables[0], tables[1]


def _accuracy(graph: Graph, place: Path, vectors: tuple, norm: int) -> float:
  """Returns the accuracy on test and as many false triples, given or drawn."""
  splits = []
  for seed, split in enumerate(("valid", "test")):
    true, path = graph.splits[split], place / NEGATIVES.format(split)
    has_file = path.is_file()
    false = read_false(graph, path) if has_file else ranking.corrupted(graph, true, seed)
    triples = np.concatenate([true, false])
    distances = ranking.triple_distances(vectors, triples, norm)
    splits.append((triples[:, 1], distances, np.arange(len(triples)) < len(true)))
  return ranking.accuracy(splits[0], splits[1])
