"""Records of link prediction: chunks of triples, their negatives, and the rows made of them."""

import dataclasses
import functools
import threading
from typing import NamedTuple

import jax
import numpy as np

from luke_jax.files import Path
from luke_jax.graph.triples import Graph, read_graph
from luke_jax.pipeline.reads import cached

_scratch = threading.local()


class Answers:
  """Entities that complete pairs of an entity and a relation to known triples."""

  def __init__(self, entities: np.ndarray, relations: np.ndarray, answers: np.ndarray):
    self._relations = int(relations.max(initial=0)) + 1
    keys = self._keys(entities, relations)
    self._pairs, numbers = np.unique(keys, return_inverse=True)
    self.numbers = numbers.astype(np.int32)  # of the pair of each triple
    order = np.lexsort((answers, numbers))
    self.entities = answers[order].astype(np.int32)
    # The last list is empty: that of pairs in no triple.
    self._starts = np.append(np.searchsorted(numbers[order], np.arange(len(self._pairs) + 1)), 0)
    self._starts[-1] = len(answers)
    by_answer = np.argsort(answers, kind="stable")
    self._asked = numbers[by_answer].astype(np.int32)
    most = int(answers.max(initial=0)) + 1  # the last list is empty: that of no answer's pairs
    self._asked_starts = np.searchsorted(answers[by_answer], np.append(np.arange(most + 1), most))

  def _keys(self, entities: np.ndarray, relations: np.ndarray) -> np.ndarray:
    keys = entities.astype(np.int64) * self._relations + relations
    return np.where(relations < self._relations, keys, -1)

  def pairs(self, entities: np.ndarray, relations: np.ndarray) -> np.ndarray:
    """Returns the numbers of pairs; those in no triple have the number after the last."""
    keys = self._keys(entities, relations)
    places = np.minimum(np.searchsorted(self._pairs, keys), len(self._pairs) - 1)
    return np.where(self._pairs[places] == keys, places, len(self._pairs))

  def bounds(self, entities: np.ndarray, relations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns where the answers to pairs begin and end in `entities`."""
    pairs = self.pairs(entities, relations)
    return self._starts[pairs], self._starts[pairs + 1]

  def counts(self, entities: np.ndarray, relations: np.ndarray) -> np.ndarray:
    """Returns the numbers of answers to pairs."""
    starts, ends = self.bounds(entities, relations)
    return ends - starts

  def mask(self, pairs: np.ndarray, candidates: np.ndarray) -> np.ndarray:
    """Returns which candidates (N,) answer pairs (C,), given by number: (C, N), as bool.

    It goes through the pairs of each candidate: drawn evenly, entities have few on the average,
    while the pairs of triples often have many answers.
    """
    mask = np.zeros((len(pairs), len(candidates)), bool)
    clipped = np.minimum(candidates, len(self._asked_starts) - 2)
    columns, asked = listed(
      self._asked, self._asked_starts[clipped], self._asked_starts[clipped + 1]
    )
    rows = _slots(len(self._pairs) + 1)
    rows[pairs] = np.arange(len(pairs))
    places, first = rows[asked], rows[pairs]  # of equal pairs one is marked, the others are copies
    rows[pairs] = -1
    hits = np.flatnonzero(places >= 0)
    mask[places[hits], columns[hits]] = True
    copies = np.flatnonzero(first != np.arange(len(pairs)))
    mask[copies] = mask[first[copies]]
    return mask


class KnownTriples:
  """The tails of each (head, relation), and the heads of each (tail, relation)."""

  def __init__(self, triples: np.ndarray):
    heads, relations, tails = triples.T
    self.tails = Answers(heads, relations, tails)
    self.heads = Answers(tails, relations, heads)
    self._head_shares = _head_shares(triples)

  def head_shares(self, relations: np.ndarray) -> np.ndarray:
    """Returns the probabilities of replacing heads that "bern" has (Wang et al. 2014)."""
    return self._head_shares[relations]

  def among(
    self, numbers: np.ndarray, replace_head: np.ndarray, candidates: np.ndarray
  ) -> np.ndarray:
    """Returns which candidates (N,) make a known triple in place of an end: (C, N), as bool.

    Triples are those that are known, by their numbers (C,).
    """
    mask = np.zeros((len(numbers), len(candidates)), bool)
    for side, answers in ((True, self.heads), (False, self.tails)):
      rows = np.flatnonzero(replace_head == side)
      mask[rows] = answers.mask(answers.numbers[numbers[rows]], candidates)
    return mask

  def contains(self, triples: np.ndarray) -> np.ndarray:
    """Returns which triples (T, 3) are known."""
    starts, ends = self.tails.bounds(triples[:, 0], triples[:, 1])
    rows, tails = listed(self.tails.entities, starts, ends)
    contained = np.zeros(len(triples), bool)
    contained[rows[tails == triples[rows, 2]]] = True
    return contained

  def bitmaps(self, triples: np.ndarray, size: int) -> np.ndarray:
    """Returns known heads and known tails of each triple as bits: (C, 2, size), uint8."""
    maps = np.zeros((len(triples), 2, size), np.uint8)
    for side, answers, asking in ((0, self.heads, 2), (1, self.tails, 0)):
      bounds = answers.bounds(triples[:, asking], triples[:, 1])
      rows, entities = listed(answers.entities, *bounds)
      bit = np.left_shift(1, entities & 7).astype(np.uint8)
      np.bitwise_or.at(maps, (rows, side, entities >> 3), bit)
    return maps


def _slots(size: int) -> np.ndarray:
  """Returns this thread's table of -1, as a new one takes long to make."""
  slots = getattr(_scratch, "slots", None)
  if slots is None or len(slots) < size:
    slots = _scratch.slots = np.full(size, -1, np.int32)
  return slots


def listed(values: np.ndarray, starts: np.ndarray, ends: np.ndarray) -> tuple:
  """Returns the members of several slices of values, as the number of the slice and the value."""
  lengths = ends - starts
  rows = np.repeat(np.arange(len(starts)), lengths)
  shifts = starts - (np.cumsum(lengths) - lengths)
  return rows, values[shifts[rows] + np.arange(len(rows))]


def _head_shares(triples: np.ndarray) -> np.ndarray:
  """Returns tph / (tph + hpt) by relation: triples for each head, and for each tail."""
  counts = np.bincount(triples[:, 1])
  heads, tails = (
    np.bincount(np.unique(triples[:, (side, 1)], axis=0)[:, 1], minlength=len(counts))
    for side in (0, 2)
  )
  # count / heads over the sum of count / heads and count / tails
  return tails / np.maximum(heads + tails, 1)


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
