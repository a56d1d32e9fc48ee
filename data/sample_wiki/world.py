"""The world's two tables: the entities, and the facts that relate them."""

from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass, fields
from functools import cached_property
from pathlib import Path

FOLDER = Path(__file__).parent
ENTITIES, FACTS, RELATIONS = "entities.tsv", "facts.tsv", "relations.tsv"
HOMES = ("in_country", "region_of", "citizen_of", "official_in")
TOLD, IMPLIED, UNSEEN = "told", "implied", "unseen"


@dataclass(frozen=True)
class Entity:
  """One thing of the world; empty texts and 0 where there is nothing to say."""

  title: str  # of its page; no two entities share it
  type: str  # city, person, book …
  kind: str  # what the prose calls it: novelist, football club …
  name: str  # the title without what only tells pages apart
  short: str  # how a text calls it after the first time
  pronoun: str  # she, he or it
  article: str  # "the" where the name takes it
  aliases: str  # names that redirect to the page, with | between them
  native: str  # the name in its country's script
  german: str  # titles in other languages
  japanese: str
  year: int  # of birth, founding or publication
  number: int  # inhabitants, metres, kilometres, pages …
  item: str  # in the Wikidata dump
  seen: str  # "yes", or "no" for an entity that no page names: kept for tests of the unseen

  @property
  def names(self) -> tuple[str, ...]:
    """Every name the entity goes by."""
    return tuple(dict.fromkeys(n for n in (self.name, self.short, *self.redirects) if n))

  @property
  def redirects(self) -> tuple[str, ...]:
    """Titles that redirect to its page."""
    return tuple(self.aliases.split("|")) if self.aliases else ()


@dataclass(frozen=True)
class Fact:
  """A relation between two entities, named by their titles."""

  subject: str
  relation: str
  object: str
  year: int  # 0 where none belongs to it
  status: str  # told on the pages; implied by told facts and never told; or of unseen entities


@dataclass(frozen=True)
class Relation:
  """A relation's two types, and the section of either page that tells it."""

  name: str
  subjects: str  # types, with | between them
  objects: str
  section: str  # on the subject's page
  inverse: str  # on the object's page
  field: str  # the name of its line in the subject's infobox, if it has one
  meaning: str  # in words, {s} and {o} standing for the two


@dataclass(frozen=True)
class World:
  """Entities by title, relations by name, and all facts."""

  entities: Mapping[str, Entity]
  facts: tuple[Fact, ...]
  relations: Mapping[str, Relation]

  @cached_property
  def pages(self) -> tuple[Entity, ...]:
    """The entities that have a page."""
    return tuple(e for e in self.entities.values() if e.seen == "yes")

  @cached_property
  def told(self) -> Mapping[str, tuple[Fact, ...]]:
    """For each title the told facts it is part of."""
    table: dict[str, list[Fact]] = {title: [] for title in self.entities}
    for fact in self.facts:
      if fact.status == TOLD:
        table[fact.subject].append(fact)
        table[fact.object].append(fact)
    return {title: tuple(facts) for title, facts in table.items()}

  @cached_property
  def secret(self) -> frozenset[tuple[str, str]]:
    """Pairs of titles that no paragraph may name together: their relation is only implied."""
    pairs = [(f.subject, f.object) for f in self.facts if f.status == IMPLIED]
    return frozenset(pairs + [(second, first) for first, second in pairs])

  @cached_property
  def home(self) -> Mapping[str, str]:
    """The country of each place and person, whether the pages tell it or not."""
    homes = {f.subject: f.object for f in self.facts if f.relation in HOMES}
    for fact in self.facts:
      if fact.relation in ("in_region", "flows_through") and fact.object in homes:
        homes.setdefault(fact.subject, homes[fact.object])
    return homes

  def object_of(self, title: str, relation: str) -> Entity | None:
    """Returns the entity that a told fact relates this one to, if there is one."""
    found = (f for f in self.told[title] if f.subject == title and f.relation == relation)
    return next((self.entities[f.object] for f in found), None)


def read_world(folder: Path = FOLDER) -> World:
  """Reads the tables of a folder."""
  entities = [Entity(**_typed(Entity, row)) for row in read_rows(folder / ENTITIES)]
  facts = [Fact(**_typed(Fact, row)) for row in read_rows(folder / FACTS)]
  relations = [Relation(**row) for row in read_rows(FOLDER / RELATIONS)]
  return World({e.title: e for e in entities}, tuple(facts), {r.name: r for r in relations})


def read_rows(path: Path) -> list[dict[str, str]]:
  """The rows of a table, by the names in its first line."""
  lines = path.read_text(encoding="utf-8").splitlines()
  names = lines[0].split("\t")
  rows = [line.split("\t") for line in lines[1:] if line]
  return [dict(zip(names, row + [""] * (len(names) - len(row)), strict=True)) for row in rows]


def table_text(rows: Iterable[Entity | Fact]) -> str:
  """The rows as a table of tab-separated values, names first."""
  rows = list(rows)
  lines = [[field.name for field in fields(rows[0])], *map(astuple, rows)]
  return "".join("\t".join(map(str, line)) + "\n" for line in lines)


def _typed(kind: type[Entity] | type[Fact], row: dict[str, str]) -> dict:
  numbers = {field.name for field in fields(kind) if field.type is int}
  return {name: int(value) if name in numbers else value for name, value in row.items()}
