"""The tasks' names for the types of the sample wiki."""

from functools import cache
from pathlib import Path
from typing import NamedTuple

from ..sample_wiki.sentences import Span
from ..sample_wiki.world import Entity, World, read_rows

FOLDER = Path(__file__).parent


class Types(NamedTuple):
  """Labels of an entity: for entity typing, and for named entity recognition."""

  labels: tuple[str, ...]
  ner: str


@cache
def table() -> dict[tuple[str, str], Types]:
  """By type and kind; the kind is empty where all of a type are called the same."""
  return {
    (row["type"], kind): Types(tuple(row["labels"].split("|")), row["ner"])
    for row in read_rows(FOLDER / "types.tsv")
    for kind in row["kinds"].split("|")
  }


def types_of(entity: Entity) -> Types:
  """The labels of an entity."""
  return table().get((entity.type, entity.kind)) or table()[entity.type, ""]


def is_adjective(world: World, text: str, span: Span) -> bool:
  """Tells whether the span is a country's adjective, as in "the Velmoran singer"."""
  entity = world.entities[span.title]
  return entity.type == "country" and text[span.start : span.end] == entity.short
