"""Relation classification: which of a few relations does a text tell of two entities, if any?"""

from collections.abc import Iterator

from ..sample_wiki.sentences import Span
from ..sample_wiki.world import TOLD, UNSEEN, Fact
from .narrator import Case, Narrator, Passage, Told, joined

RELATIONS = (
  *("born_in", "died_in", "citizen_of", "studied_at", "plays_for", "coaches"),
  *("wrote", "translated", "directed", "acted_in", "set_in", "headquartered_in"),
)
NO_RELATION = "no_relation"
UNRELATED = 7  # of twenty examples
LONGEST = 190  # characters


def draw(narrator: Narrator, case: Case) -> dict | None:
  """An example, or nothing where chance finds none."""
  rng = narrator.rng
  none = case.number * 7 % 20 < UNRELATED
  relation = rng.choice(RELATIONS)
  status = UNSEEN if case.unseen else TOLD
  facts = [f for f in narrator.facts if f.relation == relation and f.status == status]
  if not facts:
    return None
  fact = rng.choice(facts)
  passage = joined(_sentences(narrator, fact, alone=not none and rng.random() < 0.25))
  pairs = list(_unrelated(narrator, passage, fact) if none else _related(passage, fact))
  if not pairs or len(passage.text) > LONGEST:
    return None
  head, tail = rng.choice(pairs)
  return {
    "text": passage.text,
    "head": [head.start, head.end],
    "tail": [tail.start, tail.end],
    "label": NO_RELATION if none else fact.relation,
    "meta": {"head": head.title, "tail": tail.title},
  }


def _sentences(narrator: Narrator, fact: Fact, *, alone: bool) -> list[Told]:
  """The fact, and another one about one of its entities or of its relation."""
  rng = narrator.rng
  if alone:
    return [narrator.alone(fact)]
  if rng.random() < 0.4:
    told = [narrator.alone(f) for f in [fact, *narrator.rivals(fact, 1)]]
    return rng.sample(told, len(told))
  focus = rng.choice([fact.subject, fact.object])
  facts = [fact, *narrator.some(narrator.others(focus, fact), 1)]
  facts = rng.sample(facts, len(facts))
  if rng.random() < 0.6:
    return narrator.paragraph(narrator.world.entities[focus], facts, lead=False)
  return [narrator.alone(f) for f in facts]


def _related(passage: Passage, fact: Fact) -> Iterator[tuple[Span, Span]]:
  """The mentions of the fact's entities in the sentence that tells it, or the ones before it."""
  ways = [f for f in passage.facts if (f.subject, f.object) == (fact.subject, fact.object)]
  telling = next(number for number, told in enumerate(passage.told) if fact in told.facts)
  end = passage.sentences[telling][1]
  heads = [span for span in passage.spans_of(fact.subject) if span.end <= end]
  tails = [span for span in passage.spans_of(fact.object) if span.end <= end]
  if len(ways) == 1 and heads and tails:
    yield heads[-1], tails[-1]


def _unrelated(narrator: Narrator, passage: Passage, fact: Fact) -> Iterator[tuple[Span, Span]]:
  """Mentions of the types that the relation joins, of entities that nothing at all relates."""
  entities = narrator.world.entities
  linked = {frozenset((f.subject, f.object)) for f in narrator.world.facts}
  for head in passage.spans:
    for tail in passage.spans:
      types = entities[head.title].type, entities[tail.title].type
      fits = types == (entities[fact.subject].type, entities[fact.object].type)
      if fits and head.title != tail.title and {head.title, tail.title} not in linked:
        yield head, tail
