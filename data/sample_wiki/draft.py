"""A world in the making: what the modules that invent it add to."""

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeVar

from .world import TOLD, Entity, Fact

Thing = TypeVar("Thing")
LATEST = 2021  # nothing happens after this year
BLANK = Entity("", "", "", "", "", "it", "", "", "", "", "", 0, 0, "", "yes")
ARTICLE_TYPES = (
  "river",
  "species",
  "festival",
  "award",
  "tournament",
  "league",
  "party",
  "building",
)
ARTICLE_NAMES = (
  "University of",
  "Royal",
  "Meghapur Institute",
  "Grimsund Maritime",
  "Zarubin Coast",
)
NO_ARTICLE = ("The ", "Loy ", "Green ", "Citizens' ", "Mill Field", "Ravens' ", "Gorinsk ")


class Draft:
  """Entities and facts so far. Until the end an entity's title is its type and name."""

  def __init__(self, rng: random.Random):
    self.rng = rng
    self.entities: list[Entity] = []
    self.facts: list[Fact] = []
    self.country: dict[str, str] = {}  # the home of places and people, by name

  def add(self, entity: Entity, country: str = "") -> Entity:
    """Takes in an entity whose title is still its name."""
    takes = entity.type in ARTICLE_TYPES or entity.name.startswith(ARTICLE_NAMES)
    article = "the" if takes and not entity.name.startswith(NO_ARTICLE) else ""
    self.entities.append(replace(entity, title=f"{entity.type}:{entity.name}", article=article))
    self.country[self.entities[-1].title] = country
    return self.entities[-1]

  def fact(self, subject: Entity, relation: str, object: Entity, year: int = 0) -> None:
    """Takes in a fact, once."""
    fact = Fact(subject.title, relation, object.title, year, TOLD)
    known = ((f.subject, f.relation, f.object) for f in self.facts)
    if (fact.subject, fact.relation, fact.object) not in known:
      self.facts.append(fact)

  def dated(self, entity: Entity, year: int) -> Entity:
    """The entity with another year, which it keeps."""
    entity = replace(entity, year=year)
    self.entities = [entity if e.title == entity.title else e for e in self.entities]
    return entity

  def of(self, type: str, kind: str = "", country: str = "") -> list[Entity]:
    """The entities of a type, perhaps of a kind and a country too."""
    found = (e for e in self.entities if e.type == type and kind in ("", e.kind))
    return [e for e in found if country in ("", self.country[e.title])]

  def some(self, things: list[Thing], low: int, high: int) -> list[Thing]:
    """A few of the things."""
    return self.rng.sample(things, min(len(things), self.rng.randint(low, high)))

  def turns(self, entities: list[Entity]) -> Callable[[], Entity]:
    """One after the other, so that each comes up equally often."""

    def rounds() -> Iterator[Entity]:
      while True:
        yield from self.rng.sample(entities, len(entities))

    iterator = rounds()
    return lambda: next(iterator)
