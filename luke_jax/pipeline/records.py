"""Pretraining records as bytes, as `luke-jax wiki build` writes and pretraining reads them."""

import dataclasses

import numpy as np

from luke_jax.errors import InputError

_HEAD = 3  # numbers before the arrays: page id, count of words, count of entities


@dataclasses.dataclass(frozen=True, eq=False)
class Record:
  """Consecutive sentences of one page, and the entities that its links refer to.

  Ids and positions are int32; positions count the words of `word_ids`, which has no special tokens.
  """

  page_id: int  # in the entity vocabulary; -1 if the page itself is not in it
  word_ids: np.ndarray  # (words,)
  entity_ids: np.ndarray  # (entities,)
  mention_starts: np.ndarray  # (entities,)
  mention_ends: np.ndarray  # (entities,), one after the mention's last word

  def to_bytes(self) -> bytes:
    """Returns little-endian int32: page id, counts of words and entities, and the four arrays."""
    head = (self.page_id, len(self.word_ids), len(self.entity_ids))
    arrays = (head, self.word_ids, self.entity_ids, self.mention_starts, self.mention_ends)
    return np.concatenate([np.asarray(array, "<i4") for array in arrays]).tobytes()


def record_from_bytes(data: bytes) -> Record:
  """Parses what `Record.to_bytes` returned."""
  numbers = np.frombuffer(data, "<i4") if len(data) % 4 == 0 else np.empty(0, "<i4")
  sizes = [int(n) for n in numbers[1:_HEAD]]
  if len(sizes) < 2 or min(sizes) < 0 or len(numbers) != _HEAD + sizes[0] + 3 * sizes[1]:
    raise InputError(f"a record of {len(data)} bytes: cut short or damaged; expected whole arrays")
  words, entities = sizes
  arrays = np.split(numbers[_HEAD:], np.cumsum([words, entities, entities]))
  return Record(int(numbers[0]), *arrays)
