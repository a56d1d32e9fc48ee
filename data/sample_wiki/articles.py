"""Articles: what the page of an entity says, section by section, before any markup."""

import random
from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from .sentences import Mention, Sentence, Templates
from .telling import DEAD_BEFORE, Teller
from .world import FOLDER, Entity, Fact, World, read_rows

PROSE = 5  # facts of a section told in sentences; the others are listed
CALM = ("country", "region", "city", "language")


class Section(NamedTuple):
  """A heading, paragraphs of sentences, and the items of a list."""

  heading: str
  paragraphs: list[list[Sentence]]
  items: list[Sentence]


class Article(NamedTuple):
  """A page's sections; the first is the lead and has no heading."""

  entity: Entity
  sections: list[Section]

  @property
  def sentences(self) -> list[Sentence]:
    """All sentences and items in order."""
    return [
      sentence
      for section in self.sections
      for group in (*section.paragraphs, section.items)
      for sentence in group
    ]


@dataclass
class Library:
  """Composes the articles one after the other, and keeps count of what they link to."""

  world: World
  templates: Templates
  seed: int
  links: Counter = field(default_factory=Counter)

  def article(self, entity: Entity) -> Article:
    """The article about an entity."""
    rng = random.Random(f"{self.seed}:{entity.title}")
    teller = Teller(self.world, self.templates, rng, entity)
    composer = Composer(self, teller, entity)
    article = Article(entity, composer.sections())
    for sentence in article.sentences:
      self.links.update(sentence.titles - {entity.title})
    return article

  def peer(self, entity: Entity, known: set[str]) -> Entity:
    """An entity of the same type, and kind if possible, that is linked least so far."""
    peers = [e for e in self.world.pages if e.type == entity.type and e.title != entity.title]
    alike = [e for e in peers if e.kind == entity.kind or entity.kind[:3] == e.kind[:3] == "act"]
    if entity.type != "person":
      alike = [e for e in alike if self.links[e.title] < 9]
    fresh = [e for e in alike or peers if e.title not in known] or peers
    return min(fresh, key=lambda e: self.links[e.title])


@dataclass
class Composer:
  """Composes one article."""

  library: Library
  teller: Teller
  entity: Entity

  def sections(self) -> list[Section]:
    """The lead and the sections, each fact in one of them and some in the lead too."""
    grouped: dict[str, list[Fact]] = {"lead": []}
    for fact in self.library.world.told[self.entity.title]:
      relation = self.library.world.relations[fact.relation]
      place = relation.section if fact.subject == self.entity.title else relation.inverse
      grouped.setdefault(place, []).append(fact)
    sections = [self._lead(grouped.pop("lead"), [f for facts in grouped.values() for f in facts])]
    order = list(dict.fromkeys(self._order()))
    for heading in sorted(grouped, key=order.index):
      sections.append(self._section(heading, grouped[heading]))
    native = self._native()
    if native:
      sections.append(native)
    sections.append(self._see_also())
    return [section for section in sections if section.paragraphs or section.items]

  def _order(self) -> list[str]:
    relations = self.library.world.relations.values()
    return [heading for relation in relations for heading in (relation.section, relation.inverse)]

  def _lead(self, facts: list[Fact], others: list[Fact]) -> Section:
    lead = self.teller.lead(self.entity)
    assert lead, f"{self.entity.title}: no lead fits"
    first = Sentence((*lead.pieces[:1], *self._brackets(lead), *lead.pieces[1:]), lead.facts)
    if isinstance(lead.pieces[0], str):  # the article comes before the name
      first = Sentence((*lead.pieces[:2], *self._brackets(lead), *lead.pieces[2:]), lead.facts)
    more = self.teller.rng.sample(others, min(len(others), self.teller.rng.randint(1, 3)))
    rest = [fact for fact in [*facts, *more] if fact not in lead.facts]
    return Section("", self._paragraphs([first], rest[:7]), [])

  def _brackets(self, lead: Sentence) -> list[str]:
    entity = self.entity
    years = ""
    if entity.type == "person":
      facts = (f for f in self.library.world.facts if f.subject == entity.title)
      died = [f.year for f in facts if f.relation == "died_in" and entity.year < DEAD_BEFORE]
      years = f"{entity.year}–{died[0]}" if died else f"born {entity.year}"
    inside = "; ".join(part for part in (entity.native, years) if part)
    return [f" ({inside})"] if inside else []

  def _section(self, heading: str, facts: list[Fact]) -> Section:
    teller = self.teller
    told = facts[:PROSE] if len(facts) > PROSE + 1 else facts
    again = teller.rng.sample(told, 1) if teller.rng.random() < 0.2 else []
    paragraphs = self._paragraphs([], [*told, *again])
    items = [self._item(fact) for fact in facts] if len(facts) > PROSE + 1 else []
    return Section(heading, paragraphs, [i for i in items if self._allowed(i, set())])

  def _paragraphs(self, start: list[Sentence], facts: list[Fact]) -> list[list[Sentence]]:
    """Sentences for the facts and a remark or two, three to five a paragraph."""
    teller = self.teller
    paragraphs, current = [], start
    remark_at = teller.rng.randint(1, max(2, len(facts))) if teller.rng.random() < 0.6 else -1
    teller.named = bool(start)
    for number, fact in enumerate(facts, start=1):
      if len(current) >= 3 and teller.rng.random() < 0.4:
        paragraphs.append(current)
        current, teller.named = [], False
      if not self._tell(current, fact):
        paragraphs.append(current)
        current, teller.named = [], False
        self._tell(current, fact)
      if number == remark_at:
        remark = teller.remark(self.library.peer(self.entity, teller.known))
        self._add(current, remark or Sentence(()))
    return [paragraph for paragraph in [*paragraphs, current] if paragraph]

  def _tell(self, paragraph: list[Sentence], fact: Fact) -> bool:
    """Adds a sentence that tells the fact; other words may pass where the first may not."""
    return any(self._add(paragraph, self.teller.tell(fact)) for _ in range(8))

  def _add(self, paragraph: list[Sentence], sentence: Sentence) -> bool:
    near = {title for other in paragraph for title in other.titles}
    allowed = bool(sentence.pieces) and self._allowed(sentence, near)
    if allowed:
      paragraph.append(sentence)
    return allowed

  def _allowed(self, sentence: Sentence, near: set[str]) -> bool:
    """Tells whether no implied fact can be read off the page by finding two names together."""
    titles = sentence.titles | near | {self.entity.title}
    secret = self.library.world.secret
    return not any((first, second) in secret for first in titles for second in sentence.titles)

  def _item(self, fact: Fact) -> Sentence:
    other = fact.object if fact.subject == self.entity.title else fact.subject
    entity = self.library.world.entities[other]
    year = f" ({fact.year})" if fact.year else ""
    kind = f", {entity.kind}" if entity.type not in CALM else ""
    return Sentence((Mention(other, entity.name), f"{kind}{year}"), (fact,))

  def _native(self) -> Section | None:
    """A paragraph in the script of the entity's country, for places."""
    world, entity = self.library.world, self.entity
    home = world.home.get(entity.title, "")
    sentences = []
    for row in read_rows(FOLDER / "prose" / "native.tsv"):
      for fact in world.told[entity.title]:
        other = world.entities[fact.object if fact.subject == entity.title else fact.subject]
        type = world.entities[fact.subject].type
        told = (home, fact.relation, type) == (row["country"], row["relation"], row["type"])
        if told and other.native:
          names = {"s": world.entities[fact.subject], "o": world.entities[fact.object]}
          parts = [p for p in row["text"].replace("{", "\0{").replace("}", "\0").split("\0") if p]
          pieces = [
            Mention(names[p[1]].title, names[p[1]].native) if p.startswith("{") else p
            for p in parts
          ]
          self._add(sentences, Sentence(tuple(pieces), (fact,)))
    if not sentences or entity.type not in ("city", "region", "river"):
      return None
    start = Sentence(("A schoolbook describes it in these words:",))
    return Section("In its own language", [[start], sentences[:5]], [])

  def _see_also(self) -> Section:
    items: list[Sentence] = []
    for _ in range(self.teller.rng.randint(0, 3)):
      peer = self.library.peer(self.entity, self.teller.known)
      self.teller.known.add(peer.title)
      item = Sentence((Mention(peer.title, peer.name),))
      if item not in items:
        self._add(items, item)
    return Section("See also", [], items)
