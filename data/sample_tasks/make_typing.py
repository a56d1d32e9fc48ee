"""Entity typing: what is it that a text names, or that a pronoun stands for?"""

import re

from ..sample_wiki.sentences import Span
from ..sample_wiki.world import Entity
from .narrator import Case, Narrator, Passage, joined
from .types import is_adjective, types_of

PRONOUN = re.compile(r"(She|He|Her|His)\b")
LONGEST = 170  # characters


def draw(narrator: Narrator, case: Case) -> dict | None:
  """An example, or nothing where chance finds none."""
  entity = entity_of(narrator, case)
  passage = _passage(narrator, entity, case)
  spans = passage.spans_of(entity.title)
  if entity.type == "person" and narrator.rng.random() < 0.8:
    spans = _pronouns(passage, entity) or spans
  spans = [span for span in spans if not is_adjective(narrator.world, passage.text, span)]
  if not spans or len(passage.text) > LONGEST:
    return None
  span = narrator.rng.choice(spans)
  return {
    "text": passage.text,
    "span": [span.start, span.end],
    "labels": types_of(entity).labels,
    "meta": {"entity": entity.title},
  }


def entity_of(narrator: Narrator, case: Case) -> Entity:
  """Returns one of the split's."""
  groups: dict[str, list[Entity]] = {}
  for entity in narrator.entities:
    if (entity.seen == "no") == case.unseen:
      groups.setdefault(f"{entity.type} {types_of(entity).labels}", []).append(entity)
  return narrator.fairly(groups)


def _passage(narrator: Narrator, entity: Entity, case: Case) -> Passage:
  """One or two sentences; of people whom no page names they say what they are."""
  rng = narrator.rng
  lead = case.unseen and entity.type == "person"
  first, *more = narrator.some(narrator.facts_of(entity.title), 2)
  if lead or rng.random() < (0.7 if entity.type == "person" else 0.3):
    return joined(narrator.paragraph(entity, [first] if lead else [first, *more], lead=lead))
  other = first.object if first.subject == entity.title else first.subject
  context = narrator.some(narrator.others(other, first), rng.randint(0, 1))
  return joined(narrator.alone(fact) for fact in [first, *context])


def _pronouns(passage: Passage, person: Entity) -> list[Span]:
  """Pronouns that begin a sentence after the first, which names the person."""
  if person.title not in passage.told[0].sentence.titles:
    return []
  found = [PRONOUN.match(passage.text, start) for start, _ in passage.sentences[1:]]
  return [Span(*match.span(), person.title) for match in found if match]
