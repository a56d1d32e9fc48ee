"""Rows of texts with the mentions of their names, and which of them mean the same."""

import dataclasses
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from jax import export

from luke_jax.errors import InputError
from luke_jax.formats.files import Faults
from luke_jax.heads.facts import MENTIONS, MENTIONS_OF_NAME, NAMES, TYPES
from luke_jax.models.system import Backbone
from luke_jax.nn.losses import IGNORED
from luke_jax.tasks.contract import ExtraInputs
from luke_jax.tasks.facts.files import FactsExample
from luke_jax.text import Processor, Row, TextInput
from luke_jax.text.rows import Room

LEAST_NAMES = 16  # of a row
MOST_MENTIONS = 10**6  # of a window, as names decide how many a row has


@dataclasses.dataclass(frozen=True)
class NamesOfRow(ExtraInputs):
  """The names of a row, fewer where it is short, as every two of them are a pair."""

  def rooms(self, backbone: Backbone, words: int) -> dict[str, Room]:
    """Returns the room for the mentions and the types of names."""
    names = room_for_names(words)
    return {MENTIONS: Room((names, MENTIONS_OF_NAME)), TYPES: Room((names,))}

  def check(self, backbone: Backbone) -> None:
    """Accepts any backbone."""


def room_for_names(words: Any) -> Any:
  """Returns the number of names that a row of so many words has room for; any in a program."""
  if not isinstance(words, int):
    (names,) = export.symbolic_shape("names", scope=words.scope)
    return names
  return min(NAMES, max(LEAST_NAMES, 8 * math.ceil(words / 64)))


def rows_of(
  processor: Processor,
  examples: Sequence[FactsExample],
  labels: Sequence[str],
  types: Sequence[str],
  faults: Faults,
  mentions: int,
) -> Iterator[Row]:
  """Yields rows for each example: a window of its text, with all its names or two parts of them.

  A row has the first `mentions` of these. Windows overlap by half, so that names that are near each
  other stand together in one.
  """
  processor = dataclasses.replace(processor, max_entity_length=MOST_MENTIONS)
  numbers = {label: number for number, label in enumerate(labels)}
  of_types = {name: number for number, name in enumerate(types, start=1)}
  for number, example in enumerate(examples):
    with faults.caught():
      rows, targets = _windows(processor, example), _Targets(example, numbers)
      owners = [name for name, x in enumerate(example.names) for _ in x.mentions]
      for window, names in ((row, x) for row in rows for x in _parts(row, owners)):
        made = _row(window, example, _first(names, mentions), of_types)
        told = targets.of(made.source)
        yield dataclasses.replace(made, example=number).labelled(told, made.source)


def _windows(processor: Processor, example: FactsExample) -> list[Row]:
  spans = [span for name in example.names for span in name.mentions]
  try:
    text = TextInput(example.text, entity_spans=spans)
    return processor.windows([text], stride=max(1, processor.max_length // 2), offsets=False)
  except InputError as fault:
    raise InputError(f"{example.place}: {str(fault).removeprefix('example 0: ')}") from None


def _parts(row: Row, owners: Sequence[int]) -> Iterator[dict[int, list[int]]]:
  """Yields the names of rows, each with the numbers of its mentions among the entities of a window.

  A window with more names than a row has room for is read for each two parts of them; `owners` are
  the names of all mentions.
  """
  names: dict[int, list[int]] = {}
  for place, entity in enumerate(row.entities or ()):
    names.setdefault(owners[entity.number], []).append(place)
  every = sorted(names)
  if len(every) < 2:
    return
  room = room_for_names(len(row.input_ids))
  if len(every) <= room:
    yield names
    return
  half = room // 2
  parts = [every[first : first + half] for first in range(0, len(every), half)]
  for one, other in itertools.combinations(parts, 2):
    yield {name: names[name] for name in (*one, *other)}


def _first(names: Mapping[int, list[int]], most: int) -> dict[int, list[int]]:
  """Returns the first mentions of each name, as many of each as there is room for all."""
  for count in range(MENTIONS_OF_NAME, 0, -1):
    if sum(min(count, len(places)) for places in names.values()) <= most:
      break
  return {name: places[:count] for name, places in names.items()}


def _row(
  row: Row, example: FactsExample, chosen: Mapping[int, Sequence[int]], types: Mapping[str, int]
) -> Row:
  """Returns a row with the mentions of the chosen names."""
  kept = list(chosen.values())
  flat = np.array([place for places in kept for place in places])
  mentions = np.zeros((len(kept), MENTIONS_OF_NAME), np.int32)
  last = 0
  for line, places in zip(mentions, kept, strict=True):
    line[: len(places)] = np.arange(last + 1, last + 1 + len(places))
    last += len(places)
  of_names = np.array([types.get(example.names[x].label, 0) for x in chosen], np.int32)
  return dataclasses.replace(
    row,
    entity_ids=row.entity_ids[flat],
    entity_tokens=row.entity_tokens[flat],
    extra={MENTIONS: mentions, TYPES: of_names},
    source=tuple(chosen),
  )


class _Targets:
  """The labels of an example, of each pair of its names."""

  def __init__(self, example: FactsExample, numbers: Mapping[str, int]):
    self.known = example.facts is not None
    self.labels = len(numbers)
    self.by_pair: dict[tuple[int, int], list[tuple[int, int]]] = {}
    every = range(self.labels)
    for fact in example.unknown:
      open_labels = [numbers[x] for x in (fact.label,) if x in numbers] if fact.label else every
      self.by_pair.setdefault(fact[:2], []).extend((x, IGNORED) for x in open_labels)
    for fact in example.facts or ():
      if fact.label in numbers:
        self.by_pair.setdefault(fact[:2], []).append((numbers[fact.label], 1))

  def of(self, names: Sequence[int]) -> np.ndarray | None:
    """Returns 1, 0 or -100 for each pair of some names and each relation; None if nobody knows."""
    if not self.known:
      return None
    labels = np.zeros((len(names), len(names), self.labels), np.int8)
    places = {name: place for place, name in enumerate(names)}
    labels[np.arange(len(names)), np.arange(len(names))] = IGNORED
    for (head, tail), values in self.by_pair.items():
      if head in places and tail in places:
        for label, value in values:
          labels[places[head], places[tail], label] = value
    return labels
