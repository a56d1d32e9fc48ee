"""Articles as wikitext, with the markup that encyclopedias are full of."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from .articles import Article, Section
from .sentences import Mention, Sentence
from .world import Entity, World

ITALIC = ("book", "film")
SIZES = {"river": ("km", "length"), "mountain": ("m", "height"), "lake": ("km2", "area")}


@dataclass
class Markup:
  """Writes the wikitext of one article."""

  world: World
  article: Article
  rng: random.Random
  redirects: Mapping[str, str]
  linked: set[str] = field(default_factory=set)  # in this section

  def page(self) -> str:
    """The whole text of the page."""
    entity = self.article.entity
    parts = [self._hatnotes(), self._infobox()]
    parts += [self._section(section) for section in self.article.sections]
    parts += ["== References ==\n{{Reflist|30em}}"]
    parts += ["\n".join(self._categories())]
    languages = [("de", entity.german), ("ja", entity.japanese)]
    parts += ["\n".join(f"[[{code}:{title}]]" for code, title in languages if title)]
    return "\n\n".join(part for part in parts if part)

  def _hatnotes(self) -> str:
    entity = self.article.entity
    others = [e for e in self.world.pages if e.name == entity.name and e is not entity]
    lines = [f"{{{{Short description|{entity.kind.capitalize()}}}}}"]
    if others:
      lines += [f"{{{{About|the {entity.kind}|the {others[0].kind}|{others[0].title}}}}}"]
    return "\n".join(lines)

  def _infobox(self) -> str:
    """Facts as a template's fields; some are templates or lists themselves."""
    entity, world = self.article.entity, self.world
    fields = [("name", entity.name)]
    if entity.native:
      fields += [("native_name", f"{{{{lang|und|{entity.native}}}}}")]
    values: dict[str, list[str]] = {}
    for fact in world.told[entity.title]:
      name = world.relations[fact.relation].field
      if fact.subject == entity.title and name:
        other = world.entities[fact.object]
        values.setdefault(name, []).append(labelled(other.title, other.name))
    for name, links in values.items():
      several = "{{plainlist|\n" + "\n".join(f"* {link}" for link in links) + "\n}}"
      fields += [(name, links[0] if len(links) == 1 else several)]
    fields += [("image", f"{_file(entity)} <!-- a better picture is wanted -->")]
    if entity.year:
      fields += [("date", f"{{{{start date and age|{entity.year}|{entity.number % 12 + 1}}}}}")]
    if entity.type in SIZES:
      unit, name = SIZES[entity.type]
      fields += [(name, f"{{{{convert|{entity.number}|{unit}|abbr=on}}}}")]
    inside = "".join(f"| {name} = {value}\n" for name, value in fields)
    return f"{{{{Infobox {entity.type}\n{inside}}}}}"

  def _section(self, section: Section) -> str:
    self.linked = set()
    parts = [f"== {section.heading} =="] if section.heading else []
    if section.heading and self.rng.random() < 0.06:
      parts += ["{{Main|List of " + plural(self.article.entity.type) + "}}"]
    if section.heading and section.paragraphs and self.rng.random() < 0.3:
      parts += [self._picture(section)]
    for number, paragraph in enumerate(section.paragraphs):
      text = " ".join(self._sentence(sentence) for sentence in paragraph)
      first = not section.heading and not number
      parts += [self._bold(text) if first else text]
    if section.items:
      dated = any(item.facts and item.facts[0].year for item in section.items)
      parts += [self._table(section.items) if dated else self._list(section.items)]
    if section.heading == "In its own language":
      parts[-1] = f'<blockquote lang="und">\n{parts[-1]}\n</blockquote>'
    heading = parts.pop(0) + "\n" if section.heading else ""
    return heading + "\n\n".join(parts)

  def _bold(self, text: str) -> str:
    name = self.article.entity.name
    return text.replace(name, f"'''{name}'''", 1)

  def _sentence(self, sentence: Sentence) -> str:
    text = "".join(self._piece(p) if isinstance(p, Mention) else _safe(p) for p in sentence.pieces)
    roll = self.rng.random()
    if roll < 0.10 and sentence.facts:
      return text + self._reference(sentence)
    if roll < 0.12 and sentence.facts:
      return text + "{{citation needed|date=May 2021}}"
    if roll < 0.14:
      return text + "<!-- please keep this sentence -->"
    return text

  def _piece(self, mention: Mention) -> str:
    """The mention as a link, if it is the first in its section, to another page."""
    entity = self.world.entities[mention.title]
    mark = "''" if entity.type in ITALIC else ""
    if mention.title == self.article.entity.title or mention.title in self.linked:
      return f"{mark}{mention.text}{mark}"
    if self.rng.random() < 0.85:
      self.linked.add(mention.title)
    return f"{mark}{self.link(mention)}{mark}"

  def link(self, mention: Mention) -> str:
    """One of the ways to write the link."""
    title, text, roll = mention.title, mention.text, self.rng.random()
    if text != title and self.redirects.get(text) == title and roll < 0.8:
      return f"[[{text}]]"
    if text in (title, title[:1].lower() + title[1:]):
      if roll < 0.03 and " " in text:
        return f"[[{title.replace(' ', '_')}|{text}]]"
      return f"[[{text}]]" if roll < 0.97 else f'[[{title}|<span class="name">{text}</span>]]'
    if text.startswith(title) and text.removeprefix(title).isalpha():
      return f"[[{title}]]{text.removeprefix(title)}"
    if roll < 0.04:
      return f"[[{title}#History|{text}]]"
    return f"[[{title}|{text}]]"

  def _reference(self, sentence: Sentence) -> str:
    fact, entity = sentence.facts[0], self.article.entity
    if self.rng.random() < 0.3:
      return f"<ref name=\"almanac{entity.number % 9}\">''The Nine Nations Almanac'', p. 12.</ref>"
    book = self.rng.choice(["Gazetteer", "Yearbook", "Lexicon", "Chronicle"])
    subject = self.world.entities[fact.subject].name
    return (
      f"<ref>{{{{cite book|title={book} of {labelled(fact.subject, subject)}"
      f"|year={1900 + entity.number % 120}|page={entity.number % 300 + 1}}}}}</ref>"
    )

  def _picture(self, section: Section) -> str:
    near = [p for s in section.paragraphs[0] for p in s.pieces if isinstance(p, Mention)]
    near = [p for p in near if p.title != self.article.entity.title]
    caption = f", near {labelled(*near[0])}" if near else ""
    side, file = self.rng.choice(["right", "left"]), _file(self.article.entity)
    name = self.article.entity.name
    return f"[[File:{file}|thumb|{side}|220px|''{name}'' in a drawing{caption}]]"

  def _list(self, items: Sequence[Sentence]) -> str:
    sign = self.rng.choice(["*", "*", "#"])
    return "\n".join(sign + " " + self._item(item) for item in items)

  def _item(self, sentence: Sentence) -> str:
    return "".join(self.link(p) if isinstance(p, Mention) else _safe(p) for p in sentence.pieces)

  def _table(self, items: Sequence[Sentence]) -> str:
    rows = []
    for item in items:
      title = next(iter(item.titles))
      entity, year = self.world.entities[title], item.facts[0].year or "&ndash;"
      name = self.link(Mention(title, entity.name))
      rows.append(f'|-\n! scope="row" | {name}\n| {entity.kind} || {year}')
    head = '{| class="wikitable sortable"\n|+ In order of the archive\n! Name !! Kind !! Year\n'
    return head + "\n".join(rows) + "\n|}"

  def _categories(self) -> list[str]:
    """Categories by type and, where the pages tell it, by country."""
    entity, world = self.article.entity, self.world
    country = world.object_of(entity.title, "in_country")
    country = country or world.object_of(entity.title, "citizen_of")
    noun = plural(entity.kind).capitalize()
    lines = [f"[[Category:{noun}]]"]
    if country:
      lines.append(f"[[Category:{noun} of {country.name}]]")
    if entity.type == "person":
      lines.append(f"[[Category:{entity.year} births]]")
      lines.insert(0, f"{{{{DEFAULTSORT:{entity.short}, {entity.name.split(' ')[0]}}}}}")
    return lines


def labelled(title: str, text: str) -> str:
  """A link, with a label where the text is not the title."""
  return f"[[{title}]]" if text == title else f"[[{title}|{text}]]"


def _file(entity: Entity) -> str:
  return f"{entity.name} ({entity.type}).jpg"


def plural(noun: str) -> str:
  """The noun for several."""
  if noun.endswith("y") and noun[-2:] not in ("ay", "ey"):
    return noun[:-1] + "ies"
  if noun.endswith(("s", "ch")):
    return noun + ("" if noun == "species" else "es")
  return noun + "s"


def _safe(text: str) -> str:
  """Plain words as wikitext, with some characters as entities."""
  text = text.replace(" km", "&nbsp;km").replace(" m ", "&nbsp;m ")
  return text.replace("–", "&ndash;")
