"""Passages in which a fact is told among others, or from which it follows, to ask about it."""

from typing import NamedTuple

from ..sample_wiki.sentences import Span
from ..sample_wiki.world import IMPLIED, UNSEEN, Entity, Fact, World
from .narrator import Case, Narrator, Passage, Told, joined
from .types import is_adjective

LONGEST, LONG = 360, 620  # characters
SUBJECT, OBJECT = "subject", "object"


class Setting(NamedTuple):
  """A passage and a fact to ask about."""

  fact: Fact
  focus: Entity  # what the passage is about
  passage: Passage
  told: int | None  # which sentence tells the fact, if one does

  def entity(self, side: str) -> str:
    """The title of the fact's subject or object."""
    return self.fact.subject if side == SUBJECT else self.fact.object

  def meta(self, asks: str) -> dict:
    """Returns an example's notes: the fact, and which part of it is asked for."""
    fact = [self.fact.subject, self.fact.relation, self.fact.object]
    implied = {"implied": True} if self.fact.status == IMPLIED else {}
    return {"fact": fact, "asks": asks, **implied}


def asked_fact(narrator: Narrator, case: Case) -> Fact:
  """A fact of the split."""
  relations: dict[str, list[Fact]] = {}
  for fact in narrator.facts:
    if (fact.status == UNSEEN, fact.status == IMPLIED) == (case.unseen, case.implied):
      relations.setdefault(fact.relation, []).append(fact)
  return narrator.fairly(relations)


def grounds(world: World, fact: Fact) -> list[Fact]:
  """The told facts from which an implied one follows, about its subject first."""
  steps = ("born_in", "in_region", "region_of")
  found, title = [], fact.subject
  for relation in steps:
    found += [f for f in world.told[title] if (f.subject, f.relation) == (title, relation)]
    title = found[-1].object if found else title
  official = [f for f in world.told[fact.object] if f.relation == "official_in"]
  return found + [f for f in official if f.subject == fact.object]


def setting(narrator: Narrator, fact: Fact, case: Case, *, telling: bool = True) -> Setting | None:
  """A passage about one of the fact's entities that tells the fact, or (not telling) does not."""
  rng, world = narrator.rng, narrator.world
  implied = fact.status == IMPLIED
  key, *more = grounds(world, fact) if implied else [fact]
  title = fact.subject if implied else rng.choice([fact.subject, fact.object])
  few, many = (0, 2) if case.easy else (2, 3)
  count = 1 if implied else rng.randint(few, many)
  facts = narrator.some(narrator.others(title, key), count)
  facts += [key] if telling else []
  rng.shuffle(facts)
  told = narrator.paragraph(world.entities[title], facts, lead=rng.random() < 0.4)
  more += narrator.rivals(more[-1] if more else key, 0 if case.easy else rng.randint(0, 2))
  others = [narrator.alone(f) for f in narrator.some(more, len(more))]
  told = others + told if rng.random() < 0.3 else told + others
  if case.long:
    told += _more(narrator, told, title)
  passage = joined(told)
  fits = len(passage.text) > LONG if case.long else len(passage.text) <= LONGEST
  if not fits or any(is_adjective(world, passage.text, span) for span in passage.spans):
    return None
  where = [number for number, t in enumerate(told) if fact in t.facts]
  if len(where) != int(telling and not implied):
    return None
  return Setting(fact, world.entities[title], passage, where[0] if where else None)


def _more(narrator: Narrator, told: list[Told], title: str) -> list[Told]:
  """Paragraphs about others that were named."""
  others = sorted({other for t in told for other in t.sentence.titles} - {title})
  paragraphs = [
    narrator.paragraph(
      narrator.world.entities[other], narrator.some(narrator.facts_of(other), 4), lead=True
    )
    for other in narrator.rng.sample(others, min(len(others), 3))
  ]
  return [told for paragraph in paragraphs for told in paragraph]


def answers(narrator: Narrator, found: Setting, side: str, *, easy: bool = False) -> list[Span]:
  """Returns the places of the fact's subject or object, first those in the sentence of the fact."""
  passage = found.passage
  if not is_question(narrator, found, side, easy=easy):
    return []
  start, end = (0, 0) if found.told is None else passage.sentences[found.told]
  spans = passage.spans_of(found.entity(side))
  return sorted(spans, key=lambda s: (not start <= s.start < end, s.start))


def is_question(narrator: Narrator, found: Setting, side: str, *, easy: bool = False) -> bool:
  """Tells whether the fact's subject or object is worth asking for.

  The passage names the other one, nothing else that would be right, something of the same type
  that is wrong (nothing of the kind if it is to be easy); and the two do not have the same name.
  """
  fact, entities = found.fact, narrator.world.entities
  right, given = found.entity(side), found.entity(OBJECT if side == SUBJECT else SUBJECT)
  named = {span.title for span in found.passage.spans}
  choices = [t for t in named - {right, given} if entities[t].type == entities[right].type]
  pairs = [(t, fact.object) if side == SUBJECT else (fact.subject, t) for t in choices]
  others = any((subject, fact.relation, object) in narrator.related for subject, object in pairs)
  same = set(entities[right].names) & set(entities[given].names)
  return given in named and bool(choices) != easy and not others and not same
