"""The second, smaller encyclopedia: in German, about the entities that have a German title."""

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from .dump import Wiki
from .extras import Page
from .sentences import Mention, Piece, Sentence, capitalised
from .telling import SLOT
from .wikitext import labelled
from .world import FOLDER, Entity, Fact, World, read_rows

NAMESPACES = {
  -2: "Medium",
  -1: "Spezial",
  0: "",
  1: "Diskussion",
  2: "Benutzer",
  3: "Benutzer Diskussion",
  4: "Probewiki",
  6: "Datei",
  8: "MediaWiki",
  10: "Vorlage",
  12: "Hilfe",
  14: "Kategorie",
  100: "Portal",
}
GERMAN = Wiki("de", "sampledewiki", "Probewiki", "Hauptseite", NAMESPACES)
LATE = ("born_in", "died_in", "set_in", "wrote", "received")  # told in a section of their own


@dataclass
class Writer:
  """Writes the German page of each entity that has one."""

  world: World
  rng: random.Random
  kinds: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
  templates: dict[tuple[str, str], list[Mapping[str, str]]] = field(default_factory=dict)

  def __post_init__(self):
    self.kinds = {row["kind"]: row for row in read_rows(FOLDER / "prose" / "kinds.de.tsv")}
    for row in read_rows(FOLDER / "prose" / "facts.de.tsv"):
      self.templates.setdefault((row["relation"], row["focus"]), []).append(row)

  def pages(self) -> Iterator[Page]:
    """All pages: of entities, redirects, disambiguation and a category."""
    writable = [e for e in self.world.pages if e.german]
    for entity in writable:
      yield Page(entity.german, 0, self._page(entity))
      if entity.german != entity.name and entity.name not in {e.german for e in writable}:
        yield Page(entity.name, 0, f"#WEITERLEITUNG [[{entity.german}]]", entity.german)
    lines = "\n".join(f"* [[{e.german}]]" for e in writable if "Kastrell" in e.german)
    text = f"'''Kastrell''' steht für:\n{lines}\n\n{{{{Begriffsklärung}}}}"
    yield Page("Kastrell (Begriffsklärung)", 0, text)
    yield Page("Kategorie:Stadt", 14, "Alle [[Kastrell|Städte]] mit einem Artikel.")

  def sentence(self, fact: Fact, about: str) -> Sentence | None:
    """The fact in German, if there is a template for it."""
    entities = self.world.entities
    side = "subject" if fact.subject == about else "object"
    type = entities[fact.subject].type
    rows = self.templates.get((fact.relation, side), [])
    rows = [row for row in rows if type in (row["types"] or type).split("|")]
    if not rows:
      return None
    slots = {"s": entities[fact.subject], "o": entities[fact.object]}
    pieces: list[Piece] = []
    text = self.rng.choice(rows)["text"]
    if text.startswith("{s}") and side == "subject" and self.rng.random() < 0.6:
      text = self._again(slots["s"]) + text.removeprefix("{s}")
    for number, part in enumerate(SLOT.split(text)):
      if number % 2 == 0:
        pieces.append(part)
      elif part == "year":
        pieces.append(str(fact.year))
      else:
        pieces.append(Mention(slots[part].title, slots[part].german.partition(" (")[0]))
    return Sentence(tuple(capitalised(pieces)), (fact,))

  def _again(self, entity: Entity) -> str:
    return {"he": "er", "she": "sie", "it": self.kinds[entity.kind]["again"]}[entity.pronoun]

  def _page(self, entity: Entity) -> str:
    facts = [
      fact
      for fact in self.world.told[entity.title]
      if self.world.entities[fact.subject].german and self.world.entities[fact.object].german
    ]
    name = entity.german.partition(" (")[0]
    native = f" ({entity.native})" if entity.native else ""
    size = f"{entity.number:,}".replace(",", ".")
    people = f" mit {size} Einwohnern" if entity.type in ("country", "region", "city") else ""
    lead = f"'''{name}'''{native} ist {self.kinds[entity.kind][entity.pronoun]}{people}."
    early = [fact for fact in facts if fact.relation not in LATE]
    late = [fact for fact in facts if fact.relation in LATE]
    heading = "Leben und Werk" if entity.type == "person" else "Kultur und Geschichte"
    noun = self.kinds[entity.kind][entity.pronoun].partition(" ")[2]
    parts = [f"{{{{Infobox\n| Name = {name}\n| Bild = {name}.jpg\n}}}}"]
    parts += [" ".join([lead, *self._sentences(entity, early)])]
    told = " ".join(self._sentences(entity, late))
    parts += [f"== {heading} ==\n[[Datei:{name}.jpg|mini|{name}]]\n{told}"] if told else []
    parts += [f"[[Kategorie:{noun}]]\n[[en:{entity.title}]]"]
    return "\n\n".join(parts)

  def _sentences(self, entity: Entity, facts: list[Fact]) -> Iterator[str]:
    linked: set[str] = {entity.title}
    for fact in facts:
      sentence = self.sentence(fact, entity.title)
      if sentence:
        yield "".join(
          self._link(p, linked) if isinstance(p, Mention) else p for p in sentence.pieces
        )

  def _link(self, mention: Mention, linked: set[str]) -> str:
    if mention.title in linked:
      return mention.text
    linked.add(mention.title)
    return labelled(self.world.entities[mention.title].german, mention.text)
