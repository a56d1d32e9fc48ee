"""The facts that a split of a task may use, and its sentences about them."""

import random
from collections.abc import Callable, Iterable, Mapping
from itertools import cycle
from typing import NamedTuple, TypeVar

from ..sample_wiki.sentences import Sentence, Span, Templates, plain, read_templates
from ..sample_wiki.telling import Teller
from ..sample_wiki.world import TOLD, UNSEEN, Entity, Fact, World
from .types import types_of

TRAIN, DEV, TEST = SPLITS = ("train", "dev", "test")
TURNS = (TRAIN, TRAIN, DEV, TRAIN, TEST)  # in which splits share what pages name
UNSEEN_TURNS = (DEV, TEST)  # and what no page names
SYMMETRIC = ("neighbours", "twinned_with", "rival_of", "married_to")

T = TypeVar("T")


class Case(NamedTuple):
  """A plan of an example."""

  number: int  # from 0, in its split
  unseen: bool  # about something that no page names
  implied: bool  # about a fact that follows from others, if the task asks about facts
  long: bool  # longer than a window
  easy: bool = False  # with nothing but the answer that is of its type, if the task asks


class Told(NamedTuple):
  """A sentence, the template it is made from, and the facts it tells."""

  sentence: Sentence
  wording: str

  @property
  def facts(self) -> tuple[Fact, ...]:
    """The facts that it tells."""
    return self.sentence.facts


class Passage(NamedTuple):
  """Sentences as one text: where each stands, where entities are named, and what is told."""

  text: str
  sentences: tuple[tuple[int, int], ...]
  spans: tuple[Span, ...]
  told: tuple[Told, ...]

  @property
  def facts(self) -> list[Fact]:
    """All facts that the sentences tell."""
    return [fact for told in self.told for fact in told.facts]

  def spans_of(self, title: str) -> list[Span]:
    """Returns the places that name an entity."""
    return [span for span in self.spans if span.title == title]


def joined(told: Iterable[Told]) -> Passage:
  """The sentences with a space between them."""
  text, sentences, spans = "", [], []
  told = tuple(told)
  for sentence, _ in told:
    words, found = plain(sentence)
    text += " " if text else ""
    sentences.append((len(text), len(text) + len(words)))
    spans += [Span(s.start + len(text), s.end + len(text), s.title) for s in found]
    text += words
  return Passage(text, tuple(sentences), tuple(spans), told)


class Narrator:
  """Tells what one split of one task may speak of.

  Each entity and each fact is asked about in one split alone, and a part of the wordings is kept
  from the train split.
  """

  def __init__(self, world: World, task: str, split: str):
    self.world, self.split = world, split
    self.rng = random.Random(f"{task}:{split}")
    templates = read_templates("en")
    self.teller = Teller(world, without_kept(templates) if split == TRAIN else templates, self.rng)
    self.entities = shared_out(world.entities.values(), task, _group_of_entity)[split]
    self.facts = shared_out(world.facts, task, _group_of_fact)[split]
    self._unseen: dict[str, list[Fact]] = {title: [] for title in world.entities}
    for fact in world.facts:
      if fact.status == UNSEEN:
        self._unseen[fact.subject].append(fact)
        self._unseen[fact.object].append(fact)
    ways = [(f.subject, f.relation, f.object) for f in world.facts]
    self.related = {*ways, *((o, r, s) for s, r, o in ways if r in SYMMETRIC)}

  def facts_of(self, title: str) -> list[Fact]:
    """Returns the facts that pages tell of an entity; all facts of one that they do not name."""
    return list(self.world.told[title]) or self._unseen[title]

  def others(self, title: str, fact: Fact) -> list[Fact]:
    """Returns told facts of an entity that do not relate the same two as the fact."""
    pair = {fact.subject, fact.object}
    return [other for other in self.facts_of(title) if {other.subject, other.object} != pair]

  def alone(self, fact: Fact) -> Told:
    """A sentence that tells the fact and names both of its entities."""
    self.teller.focus = None
    return self._tell(fact)

  def paragraph(self, focus: Entity, facts: Iterable[Fact], *, lead: bool) -> list[Told]:
    """Sentences about an entity, which the first names, for what the lead does not tell."""
    teller = self.teller
    teller.focus, teller.named = focus, False
    teller.known.clear()
    paragraph: list[Told] = []
    if lead:
      sentence = teller.lead(focus)
      assert sentence, focus.title
      paragraph.append(Told(sentence, ""))
      teller.named = True
    introduced = {fact for told in paragraph for fact in told.facts}
    for fact in facts:
      if fact in introduced:
        continue
      told = self._tell(fact)
      while not paragraph and focus.title not in told.sentence.titles:
        teller.known.clear()
        told = self._tell(fact)
      paragraph.append(told)
    return paragraph

  def remark(self, focus: Entity) -> list[Told]:
    """Something that is not in the table of facts, after a paragraph about the entity."""
    teller = self.teller
    for row in teller.templates.remarks[focus.type]:  # what one text says another one may say too
      del teller.used[row["text"]]
    peers = [e for e in self.world.pages if e.type == focus.type and e != focus]
    sentence = teller.remark(self.rng.choice(peers))
    return [Told(sentence, "")] if sentence else []

  def some(self, facts: Iterable[Fact], count: int) -> list[Fact]:
    """So many of the facts, or all, in any order."""
    facts = list(facts)
    return self.rng.sample(facts, min(count, len(facts)))

  def fairly(self, groups: Mapping[str, list[T]]) -> T:
    """One item of the groups; of large groups more often, though not in proportion."""
    (group,) = self.rng.choices(list(groups.values()), [len(g) ** 0.5 for g in groups.values()])
    return self.rng.choice(group)

  def rivals(self, fact: Fact, count: int) -> list[Fact]:
    """Told facts of the same relation about others of the same types."""
    types = [self.world.entities[title].type for title in (fact.subject, fact.object)]
    alike = [
      f
      for f in self.world.facts
      if f.relation == fact.relation
      and f.status == TOLD
      and not {f.subject, f.object} & {fact.subject, fact.object}
      and [self.world.entities[title].type for title in (f.subject, f.object)] == types
    ]
    return self.some(alike, count)

  def _tell(self, fact: Fact) -> Told:
    before = self.teller.used.copy()
    sentence = self.teller.tell(fact)
    (wording,) = self.teller.used - before
    return Told(sentence, wording)


def _group_of_entity(entity: Entity) -> tuple[str, bool]:
  return "|".join((entity.type, *types_of(entity).labels)), entity.seen == "no"


def _group_of_fact(fact: Fact) -> tuple[str, bool]:
  return f"{fact.relation} {fact.status}", fact.status == UNSEEN


def shared_out(
  items: Iterable[T], task: str, group: Callable[[T], tuple[str, bool]]
) -> dict[str, list[T]]:
  """The items of each split; each group, a name and whether it is unseen, is dealt out in turns."""
  groups: dict[tuple[str, bool], list[T]] = {}
  for item in items:
    groups.setdefault(group(item), []).append(item)
  shares: dict[str, list[T]] = {split: [] for split in SPLITS}
  for (name, unseen), members in groups.items():
    random.Random(f"{task}:{name}").shuffle(members)
    for split, item in zip(cycle(UNSEEN_TURNS if unseen else TURNS), members, strict=False):
      shares[split].append(item)
  return shares


def without_kept(templates: Templates) -> Templates:
  """The templates less the third of each four or more that tell the same from the same side."""
  facts = {
    key: [row for row in rows if len(rows) < 4 or row is not rows[2] or row["types"]]
    for key, rows in templates.facts.items()
  }
  return Templates(facts, templates.leads, templates.remarks)
