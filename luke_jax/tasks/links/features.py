"""Rows of link prediction: negatives and the triples they must not hit, drawn on the host."""

from typing import NamedTuple

import jax
import numpy as np

from luke_jax.graph.ranking import map_bytes
from luke_jax.tasks.links.records import Chunk, Source

IDS = ("heads", "relations", "tails")
Shapes = dict[str, jax.ShapeDtypeStruct]


class Drawing(NamedTuple):
  """Number of entities that are drawn, and how the side they stand in for is chosen."""

  negatives: int
  corruption: str  # "unif" or "bern"
  weighted: bool


def training_shapes(chunk: int, negatives: int) -> Shapes:
  """Returns the shapes of a chunk of training triples."""
  return dict.fromkeys(IDS, jax.ShapeDtypeStruct((chunk,), np.int32)) | {
    "replace_head": jax.ShapeDtypeStruct((chunk,), np.bool_),
    "weights": jax.ShapeDtypeStruct((chunk,), np.float32),
    "negatives": jax.ShapeDtypeStruct((negatives,), np.int32),
    "known": jax.ShapeDtypeStruct((chunk, negatives), np.bool_),
  }


def ranking_shapes(chunk: int, entities: int) -> Shapes:
  """Returns the shapes of a chunk of triples that are ranked."""
  maps = jax.ShapeDtypeStruct((chunk, 2, map_bytes(entities)), np.uint8)
  return dict.fromkeys(IDS, jax.ShapeDtypeStruct((chunk,), np.int32)) | {"bitmaps": maps}


def training_row(
  source: Source, chunk: Chunk, drawing: Drawing, rng: np.random.Generator
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
