"""Where to cut a text that is longer than the model reads at once."""

from collections.abc import Sequence

from luke_jax.errors import InputError
from luke_jax.text.parts import Entity, Part


def sliding(part: Part, room: int, stride: int) -> list[Part]:
  """Windows of `room` tokens, each starting `stride` tokens after the one before, or earlier.

  Earlier where an entity would otherwise lie in no window; so every entity of at most `room`
  tokens lies whole in at least one.
  """
  starts = [0]
  while starts[-1] + room < len(part.ids):
    here = starts[-1]
    waiting = [
      start
      for start, end in (entity.tokens for entity in part.entities)
      if start > here and end > here + room and end - start <= room
    ]
    starts.append(min([here + min(stride, room), *waiting]))
  return [part.cut(start, start + room) for start in starts]


def centred(part: Part, room: int, where: str) -> Part:
  """The one window of `room` tokens that has all entities of the part in its middle."""
  first = min(entity.tokens[0] for entity in part.entities)
  last = max(entity.tokens[1] for entity in part.entities)
  if last - first > room:
    raise InputError(
      f"{where}: its entities span {last - first} tokens; expected at most {room}, one window"
    )
  start = min((first + last - room) // 2, len(part.ids) - room)
  return part.cut(max(start, 0), max(start, 0) + room)


def longest_first(lengths: Sequence[int], room: int) -> list[int]:
  """What one or two lengths keep when the longer is cut, then both in turn, down to `room`."""
  if sum(lengths) <= room:
    return list(lengths)
  if len(lengths) == 1:
    return [room]
  first, second = lengths
  second = min(second, max(room - first, room // 2))
  return [room - second, second]


def even_groups(entities: Sequence[Entity], room: int) -> list[list[Entity]]:
  """The entities in as few groups of at most `room` as can be, all of nearly one size."""
  groups = max(1, -(-len(entities) // room))
  size = -(-len(entities) // groups) or 1
  return [list(entities[i : i + size]) for i in range(0, max(1, len(entities)), size)]
