"""Tells facts in English: templates filled with names, pronouns and nouns."""

import random
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from .sentences import Mention, Piece, Row, Sentence, Templates, capitalised
from .world import Entity, Fact, World

SLOT = re.compile(r"\{([^}]+)\}")
NAMES_BOTH = re.compile(r"(?=.*\{s('s)?\})(?=.*\{o('s)?\})")
PRONOUNS = {
  "she": {"he": "she", "his": "her", "him": "her"},
  "he": {"he": "he", "his": "his", "him": "him"},
  "it": {"he": "it", "his": "its", "him": "it"},
}
MONTHS = (
  *("January", "February", "March", "April", "May", "June"),
  *("July", "August", "September", "October", "November", "December"),
)
DEAD_BEFORE = 1945  # people born earlier have died


@dataclass
class Teller:
  """Tells facts in sentences: on the page of one entity, its focus, or on no page."""

  world: World
  templates: Templates
  rng: random.Random
  focus: Entity | None = None
  used: Counter = field(default_factory=Counter)  # templates, so that they take turns
  known: set[str] = field(default_factory=set)  # entities that were introduced
  named: bool = False  # whether the focus was named a moment ago

  def tell(self, fact: Fact) -> Sentence:
    """A sentence that tells the fact: about the focus, or else naming both of its entities."""
    if not self.focus:
      self.known.clear()
    sides = {"subject": fact.subject, "object": fact.object}
    type = self.world.entities[fact.subject].type
    texts = {
      row["text"]: about
      for side, about in sides.items()
      for row in self.templates.facts[fact.relation, side]
      if type in (row["types"] or type).split("|")
      and (about == self.focus.title if self.focus else NAMES_BOTH.search(row["text"]))
    }
    text = self.choice(list(texts))
    slots = {"s": self.world.entities[fact.subject], "o": self.world.entities[fact.object]}
    return Filling(self, slots, self.world.entities[texts[text]], (fact,)).sentence(text)

  def lead(self, entity: Entity) -> Sentence | None:
    """A sentence that introduces the entity by facts that are told of it."""
    state = "dead" if entity.type == "person" and entity.year < DEAD_BEFORE else ""
    rows = [r for r in self.templates.leads[entity.type] if r["kinds"] in ("", state)]
    filled = [(row, self._lead_slots(entity, row)) for row in rows if row["kinds"] == state]
    fitting = [(row, found) for row, found in filled if found is not None]
    if not fitting:
      return None
    row, found = self.rng.choice([pair for pair in fitting if pair[1]] or fitting)
    slots = {slot: other for slot, (other, _) in found.items()}
    facts = tuple(fact for _, fact in found.values())
    return Filling(self, {"s": entity, **slots}, entity, facts).sentence(row["text"])

  def _lead_slots(self, entity: Entity, row: Row) -> dict[str, tuple[Entity, Fact]] | None:
    found = {}
    for slot in SLOT.findall(row["text"]):
      relation, inverse = slot.removeprefix("~"), slot.startswith("~")
      if relation in self.world.relations:
        facts = [f for f in self.world.told[entity.title] if f.relation == relation]
        facts = [f for f in facts if (f.object if inverse else f.subject) == entity.title]
        if not facts:
          return None
        found[slot] = (
          self.world.entities[facts[0].subject if inverse else facts[0].object],
          facts[0],
        )
    return found

  def remark(self, peer: Entity) -> Sentence | None:
    """Something about the focus that is not in the table of facts."""
    assert self.focus
    rows = self.templates.remarks[self.focus.type]
    rows = [r for r in rows if self.focus.kind in (r["kinds"] or self.focus.kind).split("|")]
    slots = {"s": self.focus, "peer": peer}
    texts = [row["text"] for row in rows if not self.used[row["text"]]]
    if not texts:
      return None
    return Filling(self, slots, self.focus, ()).sentence(self.choice(texts))

  def choice(self, texts: list[str]) -> str:
    """One of the templates that were used least."""
    least = min(self.used[text] for text in texts)
    text = self.rng.choice([text for text in texts if self.used[text] == least])
    self.used[text] += 1
    return text

  def name(self, entity: Entity, *, plain: bool = False) -> str:
    """A name for an entity that is not the focus: seldom an alias, shorter once it is known."""
    text = entity.name
    if entity.title in self.known and entity.type not in ("country", "language"):
      text = entity.short if self.rng.random() < 0.4 else text
    elif self.focus and not plain and self.rng.random() < 0.15:
      aliases = [a for a in entity.redirects if a.isascii() and "(" not in a]
      text = self.rng.choice(aliases) if aliases else text
    self.known.add(entity.title)
    common = entity.type == "species" and text.split(" ")[0] in ("Moonlace", "Lantern", "Blue")
    return text[:1].lower() + text[1:] if common else text


@dataclass
class Filling:
  """A template being filled."""

  teller: Teller
  slots: Mapping[str, Entity]
  about: Entity
  facts: tuple[Fact, ...]
  template: str = ""

  def sentence(self, template: str) -> Sentence:
    """The template with its slots filled."""
    pieces: list[Piece] = []
    self.template = template
    parts = SLOT.split(template)
    for number, part in enumerate(parts):
      if number % 2 == 0:
        pieces.append(part)
        continue
      before = parts[number - 1].rstrip()
      if not before and number > 1 and parts[number - 2].endswith("kind"):
        before = "kind"
      pieces += self._words(part) or self._names(part, before.lower(), "kind" in template)
    return Sentence(tuple(capitalised(pieces)), self.facts)

  def _words(self, slot: str) -> list[Piece]:
    """Returns the text of a slot that names no entity; nothing for one that does."""
    article, _, kind = slot.rpartition(" ")
    if slot in ("he", "his", "him"):
      return [PRONOUNS[self.about.pronoun][slot]]
    if slot.endswith(".his"):
      return [PRONOUNS[self.slots[slot.split(".")[0]].pronoun]["his"]]
    if kind.endswith("kind"):
      noun = self.slots[kind.split(".")[0]].kind if "." in kind else self.about.kind
      return [f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}" if article else noun]
    if slot == "date":
      fact = self.facts[0]
      number = fact.year + self.teller.world.entities[fact.subject].number
      return [f"{number % 28 + 1} {MONTHS[number % 12]} {fact.year}"]
    if slot.startswith("year"):
      year = next((f.year for f in self.facts if f.year), self.about.year)
      year = self.about.year if "+" in slot else year
      return [str(year + int(slot.partition("+")[2] or 0))]
    if slot == "number":
      return [f"{self.about.number:,}"]
    return []

  def _names(self, slot: str, before: str, kind_told: bool) -> list[Piece]:
    """Names an entity: the page's focus may be a pronoun, others may have their type told."""
    slot, owner = slot.removesuffix("'s"), slot.endswith("'s")
    entity, teller = self.slots[slot], self.teller
    word = before.rpartition(" ")[2]
    if entity is self.about and entity is teller.focus:
      object_case = word[-1:].isalnum() and word not in ("kind", "where", "since", "that")
      return self._reference(entity, owner, object_case)
    pieces: list[Piece] = []
    new = entity.title not in teller.known and entity.type == "person"
    bare = word in ("the", "kind", entity.type, entity.kind.rpartition(" ")[2])
    text = teller.name(entity, plain=bare)
    alias = entity.type == "university" and text not in (entity.name, entity.short)
    if bare or alias or text.startswith("The "):
      pass
    elif entity.article or text.startswith(("Republic of", "City of")):
      pieces.append("the ")
    elif new and not (kind_told or owner) and teller.rng.random() < 0.3:
      pieces += self._apposition(entity)
    return [*pieces, Mention(entity.title, text), "'s" if owner else ""]

  def _apposition(self, person: Entity) -> list[Piece]:
    """Returns a person's profession, sometimes with the country if that is told of them."""
    told = self.teller.world.told[person.title]
    citizen = [f for f in told if f.relation == "citizen_of" and f.subject == person.title]
    country = self.teller.world.entities[citizen[0].object] if citizen else None
    if country and self.teller.focus not in (None, country) and self.teller.rng.random() < 0.4:
      self.facts = (*self.facts, citizen[0])
      return ["the ", Mention(country.title, country.short), f" {person.kind} "]
    return [f"the {person.kind} "]

  def _reference(self, entity: Entity, owner: bool, object_case: bool) -> list[Piece]:
    teller, roll = self.teller, self.teller.rng.random()
    pronoun = PRONOUNS[entity.pronoun]["his" if owner else "him" if object_case else "he"]
    if teller.named and roll < 0.55 and not (object_case and pronoun == "it"):
      return [pronoun]
    noun = entity.kind.rpartition(" ")[2]
    if teller.named and roll < 0.75 and noun not in self.template and "kind" not in self.template:
      return [f"the {noun}", "'s" if owner else ""]
    short = teller.named and entity.type not in ("country", "language")
    teller.named = True
    text = entity.short if short and entity.short else entity.name
    article = "the " if entity.article else ""
    return [article, Mention(entity.title, text), "'s" if owner else ""]
