"""Alignment of linked entities to the word pieces that name them (ERNIE of Tsinghua)."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from luke_jax.errors import InputError
from luke_jax.text.parts import checked_spans
from luke_jax.text.tokenizer import Bounds

# Pieces of a mention that the entity is beside: the first one; all; or, as in the authors'
# pretraining data, every second one from the first.
Alignment = Literal["first", "all", "alternate"]
NO_LINK = -1


class AlignedEntity(NamedTuple):
  """An entity that a stretch of text names: its name in the graph, characters, and how sure."""

  entity: str
  start: int
  end: int
  score: float = 1.0


# What finds the links of a text.
Linker = Callable[[str], Iterable[Sequence[Any]]]


def checked_links(links: object, length: int, where: str) -> tuple[AlignedEntity, ...]:
  """Returns links as values; raises InputError for one outside of a text of that length."""
  if not isinstance(links, Iterable) or isinstance(links, str):
    raise InputError(f"{where}: {links!r:.60}; expected a list of [entity, start, end, score]")
  checked = []
  for number, link in enumerate(links):
    place = f"{where}: link {number}"
    listed = list(link) if isinstance(link, Sequence) and not isinstance(link, str) else []
    if len(listed) not in (3, 4) or not isinstance(listed[0], str):
      raise InputError(f"{place}: {link!r:.60}; expected [entity, start, end] or with a score")
    ((start, end),) = checked_spans([(listed[1], listed[2])], length, place)
    score = listed[3] if len(listed) == 4 else 1.0
    if isinstance(score, bool) or not isinstance(score, int | float):
      raise InputError(f"{place}: score {score!r}; expected a number")
    checked.append(AlignedEntity(listed[0], start, end, float(score)))
  return tuple(checked)


def align(
  offsets: Sequence[Bounds],
  starts_word: Sequence[bool] | np.ndarray,
  spans: Sequence[Bounds],
  how: Alignment = "first",
) -> np.ndarray:
  """Returns for each token the number of the mention it is aligned to, or -1.

  A mention is aligned only if it begins where a word does. `offsets` are the tokens' characters,
  `starts_word` is true for pieces that begin a word. Of mentions of one token the first counts.
  """
  slots = np.full(len(offsets), NO_LINK, np.int32)
  places = {start: i for i, (start, end) in enumerate(offsets) if start < end and starts_word[i]}
  for number, (start, end) in enumerate(spans):
    first = places.get(start)
    if first is None or slots[first] != NO_LINK:
      continue
    inside = [start <= begin < stop <= end for begin, stop in offsets]
    pieces = [i for i, there in enumerate(inside) if there]
    slots[{"first": pieces[:1], "all": pieces, "alternate": pieces[::2]}[how]] = number
  return slots
