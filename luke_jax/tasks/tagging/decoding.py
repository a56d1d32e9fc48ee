"""Logits of words to tags, and tags to entities."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from luke_jax.heads.chain import unpacked
from luke_jax.nn import crf
from luke_jax.tasks.ner.documents import Example
from luke_jax.tasks.ner.tags import Scheme, chunks, legal_chunks, may_follow
from luke_jax.tasks.predictions import Span, TaggedSpans
from luke_jax.tasks.tagging.features import edges_of
from luke_jax.text import Row

TOGETHER = 64  # rows, of like length, whose best paths are looked for at once
FEW = 8  # a smaller number of rows is padded to
SHORTEST = 16  # padded number of words
Best = tuple[np.ndarray, np.ndarray]  # of a row's words: numbers of tags, and their probabilities


def legal_neighbours(labels: Sequence[str], scheme: Scheme) -> tuple[tuple[bool, ...], ...]:
  """Returns which tags may follow which, may begin and may end a sentence, (C + 2, C)."""
  rows = [tuple(may_follow(tag, before, scheme) for tag in labels) for before in (*labels, "O")]
  return (*rows, tuple(may_follow("O", before, scheme) for before in labels))


def best_tags(
  rows: Sequence[Row], outputs: Mapping[str, Any], labels: Sequence[str], scheme: Scheme
) -> list[Best]:
  """Returns the best tags of each row: of each word alone or, with a chain, the best legal path."""
  logits = [
    np.asarray(outputs["logits"][i], np.float32)[row.source.pieces, : len(labels)]
    for i, row in enumerate(rows)
  ]
  if "chain" in outputs and rows:
    legal = np.array(legal_neighbours(labels, scheme))
    chain = np.where(legal, np.asarray(outputs["chain"][0], np.float32), crf.FORBIDDEN)
    return _best_paths(logits, chain)
  return [_best_alone(of_row) for of_row in logits]


def _best_alone(logits: np.ndarray) -> Best:
  best = logits.argmax(-1)
  top = logits.max(-1, keepdims=True)
  return best, 1 / np.exp(logits - top).sum(-1)


def _best_paths(logits: Sequence[np.ndarray], chain: np.ndarray) -> list[Best]:
  """Returns the best paths of rows; padded to few shapes, since each is compiled."""
  best: list[Any] = [None] * len(logits)
  by_length: dict[int, list[int]] = {}
  for i, of_row in enumerate(logits):
    by_length.setdefault(max(SHORTEST, _power(len(of_row))), []).append(i)
  for length, alike in by_length.items():
    for first in range(0, len(alike), TOGETHER):
      numbers = alike[first : first + TOGETHER]
      height = FEW if len(numbers) <= FEW else TOGETHER
      shape = (height, length, chain.shape[1])
      emissions, mask = np.zeros(shape, np.float32), np.zeros(shape[:2], bool)
      for place, i in enumerate(numbers):
        emissions[place, : len(logits[i])], mask[place, : len(logits[i])] = logits[i], True
      paths, scores = map(np.asarray, _paths(emissions, mask, chain))
      for place, i in enumerate(numbers):
        best[i] = paths[place, : len(logits[i])], scores[place, : len(logits[i])]
  return best


@jax.jit
def _paths(emissions: jax.Array, mask: jax.Array, chain: jax.Array) -> tuple[jax.Array, jax.Array]:
  scores = unpacked(chain)
  paths, _ = crf.best_paths(emissions, mask, scores)
  chances = crf.marginals(emissions, mask, scores)
  chosen = jnp.maximum(paths, 0)[..., None]
  return paths, jnp.take_along_axis(chances, chosen, axis=-1)[..., 0]


def _power(number: int) -> int:
  return 1 << (number - 1).bit_length()


def decode(
  examples: Sequence[Example],
  rows: Sequence[Row],
  best: Sequence[Best],
  labels: Sequence[str],
  *,
  scheme: Scheme | None,
) -> list[TaggedSpans]:
  """Returns each document's entities: those of legal tags or, without a scheme, of any.

  A word in several rows has the tag of that in whose middle it stands. One without pieces is O.
  """
  chosen = [np.full(len(example.words), -1) for example in examples]
  scores = [np.ones(len(example.words)) for example in examples]
  depths = [np.full(len(example.words), -1) for example in examples]
  for row, (numbers, chances) in zip(rows, best, strict=True):
    place = np.arange(len(numbers))
    depth, of, words = np.minimum(place, place[::-1]), row.example, row.source.words
    deeper = depth > depths[of][words]
    for arrays, values in ((depths, depth), (scores, chances), (chosen, numbers)):
      arrays[of][words[deeper]] = values[deeper]
  names = (*labels, "O")  # the last of words that no row has
  tags = [tuple(names[number] for number in numbers) for numbers in map(np.ndarray.tolist, chosen)]
  return [
    TaggedSpans(tuple(spans_of(example, own, chances, scheme)), own, tuple(chances))
    for example, own, chances in zip(examples, tags, map(np.ndarray.tolist, scores), strict=True)
  ]


def spans_of(
  example: Example, tags: Sequence[str], scores: Sequence[float], scheme: Scheme | None
) -> list[Span]:
  """Returns the entities that tags make, each with the probability of its least probable tag."""
  words, spans = example.words, []
  for first, last in itertools.pairwise(edges_of(example).tolist()):
    own = tags[first:last]
    for start, end, label in legal_chunks(own, scheme) if scheme else chunks(own):
      begin, stop = words[first + start][0], words[first + end - 1][1]
      score = min(scores[first + start : first + end])
      spans.append(Span(example.text[begin:stop], begin, stop, label, float(score)))
  return spans
