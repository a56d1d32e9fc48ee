"""Classification: the topic of a text, which is the kind of the entity it is about."""

from .make_typing import LONGEST, entity_of
from .narrator import Case, Narrator, joined
from .types import types_of


def draw(narrator: Narrator, case: Case) -> dict | None:
  """An example, or nothing where chance finds none."""
  entity = entity_of(narrator, case)
  facts = narrator.some(narrator.facts_of(entity.title), 2)
  passage = joined(narrator.paragraph(entity, facts, lead=case.unseen))
  if not passage.spans_of(entity.title) or len(passage.text) > LONGEST:
    return None
  topic = types_of(entity).labels[0]
  return {"text": passage.text, "label": topic, "meta": {"entity": entity.title}}
