"""Windows of a text that is longer than the model reads at once."""

from collections.abc import Sequence

from luke_jax.errors import InputError
from luke_jax.text.parts import Entity, Part


def sliding(part: Part, room: int, stride: int) -> list[Part]:
  """Returns windows of `room` tokens, each at most `stride` tokens after the one before.

  A window starts earlier if otherwise an entity would lie in no window, so that every entity of at
  most `room` tokens lies whole in at least one.
  """
  starts = [0]
  while starts[-1] + room < len(part.ids):
    last = starts[-1]
    missed = [
      start
      for start, end in (entity.tokens for entity in part.entities)
      if start > last and end > last + room and end - start <= room
    ]
    starts.append(min([last + min(stride, room), *missed]))
  return [part.cut(start, start + room) for start in starts]


def centred(part: Part, room: int, where: str) -> Part:
  """Returns the window of `room` tokens that has all entities of the part in its middle."""
  first = min(entity.tokens[0] for entity in part.entities)
  last = max(entity.tokens[1] for entity in part.entities)
  if last - first > room:
    raise InputError(
      f"{where}: its entities span {last - first} tokens; expected at most {room}, one window"
    )
  start = min((first + last - room) // 2, len(part.ids) - room)
  return part.cut(max(start, 0), max(start, 0) + room)


def longest_first(lengths: Sequence[int], room: int) -> list[int]:
  """Returns the lengths cut down to `room` in all: the longer first, then both in turn."""
  if sum(lengths) <= room:
    return list(lengths)
  if len(lengths) == 1:
    return [room]
  first, second = lengths
  second = min(second, max(room - first, room // 2))
  return [room - second, second]


def even_groups(entities: Sequence[Entity], room: int) -> list[list[Entity]]:
  """Returns the entities in as few groups of at most `room` as possible, of nearly equal size."""
  groups = max(1, -(-len(entities) // room))
  size = -(-len(entities) // groups) or 1
  return [list(entities[i : i + size]) for i in range(0, max(1, len(entities)), size)]
