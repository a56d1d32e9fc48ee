"""Known triples by (head, relation) and by (relation, tail), for negatives and for ranks."""

import threading

import numpy as np

# Longer lists of known entities are searched for each candidate; of shorter ones each is looked up.
LONG = 4096
_scratch = threading.local()


class Answers:
  """Entities that complete a pair of an entity and a relation to known triples, as sorted lists."""

  def __init__(self, entities: np.ndarray, relations: np.ndarray, answers: np.ndarray):
    self._relations = int(relations.max(initial=0)) + 1
    keys = self._keys(entities, relations)
    order = np.lexsort((answers, keys))
    self.entities = answers[order].astype(np.int32)
    pairs, starts = np.unique(keys[order], return_index=True)
    # An empty list at the end, of pairs that are in no triple.
    self._pairs = np.append(pairs, np.iinfo(np.int64).max)
    self._starts = np.append(starts, [len(answers)] * 2)

  def _keys(self, entities: np.ndarray, relations: np.ndarray) -> np.ndarray:
    keys = entities.astype(np.int64) * self._relations + relations
    return np.where(relations < self._relations, keys, -1)

  def bounds(self, entities: np.ndarray, relations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns where the lists of pairs begin and end in `entities`."""
    keys = self._keys(entities, relations)
    places = np.searchsorted(self._pairs, keys)
    places = np.where(self._pairs[places] == keys, places, len(self._pairs) - 1)
    return self._starts[places], self._starts[places + 1]

  def counts(self, entities: np.ndarray, relations: np.ndarray) -> np.ndarray:
    """Returns the lengths of the lists of pairs."""
    starts, ends = self.bounds(entities, relations)
    return ends - starts


class Known:
  """The tails of each (head, relation), and the heads of each (tail, relation)."""

  def __init__(self, triples: np.ndarray):
    heads, relations, tails = triples.T
    self.tails = Answers(heads, relations, tails)
    self.heads = Answers(tails, relations, heads)
    self.relations = int(relations.max()) + 1
    self._head_shares = self._shares_of_heads(triples)

  def _shares_of_heads(self, triples: np.ndarray) -> np.ndarray:
    """Returns tph / (tph + hpt) by relation: triples for each head, and for each tail."""
    count = np.bincount(triples[:, 1], minlength=self.relations)
    heads, tails = (
      np.bincount(np.unique(triples[:, (side, 1)], axis=0)[:, 1], minlength=self.relations)
      for side in (0, 2)
    )
    tails_per_head, heads_per_tail = (count / np.maximum(own, 1) for own in (heads, tails))
    return tails_per_head / np.maximum(tails_per_head + heads_per_tail, 1e-12)

  def head_shares(self, relations: np.ndarray) -> np.ndarray:
    """Returns the probabilities of replacing heads that "bern" has (Wang et al. 2014)."""
    return self._head_shares[relations]

  def among(
    self, triples: np.ndarray, replace_head: np.ndarray, candidates: np.ndarray, entities: int
  ) -> np.ndarray:
    """Returns which candidates (N,) make a known triple in place of an end: (C, N), as bool."""
    mask = np.zeros((len(triples), len(candidates)), bool)
    slots = _slots(entities)
    slots[candidates] = np.arange(len(candidates))
    for side, answers, asking in ((True, self.heads, 2), (False, self.tails, 0)):
      rows = np.flatnonzero(replace_head == side)
      starts, ends = answers.bounds(triples[rows, asking], triples[rows, 1])
      long = ends - starts > LONG
      for row, start, end in zip(rows[long], starts[long], ends[long], strict=True):
        mask[row] = _contains(answers.entities[start:end], candidates)
      lists, members = listed(answers.entities, starts[~long], ends[~long])
      _mark(mask, (rows[~long][lists], members), slots)
    same = slots[candidates]  # of equal candidates one has the slot
    slots[candidates] = -1
    copies = np.flatnonzero(same != np.arange(len(candidates)))
    mask[:, copies] = mask[:, same[copies]]
    return mask

  def contains(self, triples: np.ndarray) -> np.ndarray:
    """Returns which triples (T, 3) are known."""
    starts, ends = self.tails.bounds(triples[:, 0], triples[:, 1])
    rows, tails = listed(self.tails.entities, starts, ends)
    found = np.zeros(len(triples), bool)
    found[rows[tails == triples[rows, 2]]] = True
    return found

  def bitmaps(self, triples: np.ndarray, size: int) -> np.ndarray:
    """Returns known heads and known tails of each triple as bits: (C, 2, size), uint8."""
    maps = np.zeros((len(triples), 2, size), np.uint8)
    for side, answers, asking in ((0, self.heads, 2), (1, self.tails, 0)):
      bounds = answers.bounds(triples[:, asking], triples[:, 1])
      rows, entities = listed(answers.entities, *bounds)
      bit = np.left_shift(1, entities & 7).astype(np.uint8)
      np.bitwise_or.at(maps, (rows, side, entities >> 3), bit)
    return maps


def listed(
  entities: np.ndarray, starts: np.ndarray, ends: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
  """Returns the members of several lists, as the number of the list and the entity."""
  lengths = ends - starts
  rows = np.repeat(np.arange(len(starts)), lengths)
  shifts = starts - (np.cumsum(lengths) - lengths)
  return rows, entities[shifts[rows] + np.arange(len(rows))]


def _contains(sorted_entities: np.ndarray, candidates: np.ndarray) -> np.ndarray:
  places = np.searchsorted(sorted_entities, candidates)
  return sorted_entities[np.minimum(places, len(sorted_entities) - 1)] == candidates


def _mark(mask: np.ndarray, hits: tuple[np.ndarray, np.ndarray], slots: np.ndarray) -> None:
  """Marks the rows and entities of `hits` in a mask by row and candidate, by a table of slots."""
  rows, entities = hits
  columns = slots[entities]
  found = np.flatnonzero(columns >= 0)
  mask[rows[found], columns[found]] = True


def _slots(entities: int) -> np.ndarray:
  """Returns this thread's table from entities to candidates, all -1: a new one takes long."""
  slots = getattr(_scratch, "slots", None)
  if slots is None or len(slots) < entities:
    slots = _scratch.slots = np.full(entities, -1, np.int32)
  return slots
