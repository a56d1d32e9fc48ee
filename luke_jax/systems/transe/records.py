"""Records of link prediction: chunks of triples, their negatives, and the rows made of them."""

import dataclasses
import functools
from typing import NamedTuple

import jax
import numpy as np

from luke_jax.files import Path
from luke_jax.graph.triples import Graph, read_graph
from luke_jax.pipeline.reads import cached
from luke_jax.systems.transe.known import KnownTriples

IDS = ("heads", "relations", "tails")
Shapes = dict[str, jax.ShapeDtypeStruct]
START_COUNT = 3  # added to the counts of the frequency weights, as the recipe's authors do


@dataclasses.dataclass(frozen=True, eq=False)
class GraphSource:
  """A graph with what training and scoring look up in it."""

  graph: Graph
  known: KnownTriples  # of train
  weights: np.ndarray  # of the triples of train, by the frequency of their pairs

  @property
  def entities(self) -> int:
    """Returns the number of entities."""
    return len(self.graph.entities)

  @functools.cached_property
  def all_known(self) -> KnownTriples:
    """Returns the triples of all splits, which ranks are filtered by."""
    return KnownTriples(self.graph.all)

  def dev_triples(self, most: int) -> np.ndarray:
    """Returns the triples that are scored in a run: of valid, or else of train, evenly chosen."""
    splits = self.graph.splits
    triples = splits["valid" if len(splits.get("valid", ())) else "train"]
    return triples[np.linspace(0, len(triples) - 1, min(most, len(triples))).astype(int)]


@cached(2)
def read_source(place: str) -> GraphSource:
  """Reads a graph, and counts the pairs of its training triples."""
  graph = read_graph(Path(place))
  train = graph.splits["train"]
  facts = KnownTriples(train)
  heads, relations, tails = train.T
  counts = facts.tails.counts(heads, relations) + facts.heads.counts(tails, relations)
  return GraphSource(graph, facts, (1 / np.sqrt(counts + 2 * START_COUNT)).astype(np.float32))


@dataclasses.dataclass(frozen=True, eq=False)
class TripleChunk:
  """Numbers of the triples of one record; -1 fills the last chunk up."""

  split: str  # "train" or "dev"
  numbers: np.ndarray  # (C,)


@dataclasses.dataclass(frozen=True)
class Chunks:
  """Triples in chunks of the same size, drawn once; the order of the chunks is the engine's."""

  split: str
  triples: int
  size: int

  def __len__(self) -> int:
    return -(-self.triples // self.size)

  def __getitem__(self, index: int) -> TripleChunk:
    # Files are often sorted, and neighbours would share their negatives: each chunk takes triples
    # from all over the file instead.
    count = len(self)
    numbers = np.arange(self.size) * count + index
    return TripleChunk(self.split, np.where(numbers < self.triples, numbers, -1))


class Drawing(NamedTuple):
  """Number of entities that are drawn, and how the side they stand in for is chosen."""

  negatives: int
  corruption: str  # "unif" or "bern"
  weighted: bool

  def shapes(self, chunk: int) -> Shapes:
    """Returns the shapes of a chunk of training triples."""
    return dict.fromkeys(IDS, jax.ShapeDtypeStruct((chunk,), np.int32)) | {
      "replace_head": jax.ShapeDtypeStruct((chunk,), np.bool_),
      "weights": jax.ShapeDtypeStruct((chunk,), np.float32),
      "negatives": jax.ShapeDtypeStruct((self.negatives,), np.int32),
      "known": jax.ShapeDtypeStruct((chunk, self.negatives), np.bool_),
    }


def training_row(
  source: GraphSource, chunk: TripleChunk, drawing: Drawing, rng: np.random.Generator
) -> dict[str, np.ndarray]:
  """Returns a chunk's triples with entities drawn to stand in for an end of each.

  Those that make a known triple are marked.
  """
  train, filler = source.graph.splits["train"], chunk.numbers < 0
  triples = train[chunk.numbers]
  heads, relations, tails = np.ascontiguousarray(triples.T)
  weights = source.weights[chunk.numbers] if drawing.weighted else 1
  share = source.known.head_shares(relations) if drawing.corruption == "bern" else 0.5
  replace_head = rng.random(len(triples)) < share
  negatives = rng.integers(0, source.entities, drawing.negatives, np.int32)
  return {
    "heads": heads,
    "relations": relations,
    "tails": tails,
    "replace_head": replace_head,
    "weights": np.where(filler, 0, weights).astype(np.float32),
    "negatives": negatives,
    "known": source.known.among(chunk.numbers, replace_head, negatives),
  }
