"""Facts: documents with all their names, and every relation that they state between two of them."""

from .make_ner import document
from .narrator import SYMMETRIC, Case, Narrator
from .types import types_of


def draw(narrator: Narrator, case: Case) -> dict | None:
  """A document, or nothing where chance finds none."""
  world = narrator.world
  about, passage = document(narrator, case)
  if passage is None:
    return None
  titles = list(dict.fromkeys(span.title for span in passage.spans))
  stated = [(f.subject, f.object, f.relation) for f in passage.facts]
  stated += [(o, s, relation) for s, o, relation in stated if relation in SYMMETRIC]
  facts = sorted(
    {(titles.index(s), titles.index(o), r) for s, o, r in stated if {s, o} <= {*titles}}
  )
  if not facts:
    return None
  names = [
    {
      "label": types_of(world.entities[title]).ner,
      "mentions": [[s.start, s.end] for s in passage.spans_of(title)],
    }
    for title in titles
  ]
  return {
    "text": passage.text,
    "names": names,
    "facts": [list(fact) for fact in facts],
    "sentences": [list(x) for x in passage.sentences],
    "meta": {"about": about},
  }
