"""Cloze questions: a fact that a passage tells or implies, in other words and with a gap."""

from ..sample_wiki.sentences import plain
from ..sample_wiki.telling import SLOT
from ..sample_wiki.world import IMPLIED
from .asking import OBJECT, SUBJECT, Setting, answers, asked_fact, setting
from .narrator import Case, Narrator

GAP = "@placeholder"
FOCUS_SHARE = 0.3  # of the gaps that stand for what the passage is about


def draw(narrator: Narrator, case: Case) -> dict | None:
  """An example, or nothing where chance finds none."""
  fact = asked_fact(narrator, case)
  found = setting(narrator, fact, case)
  if not found:
    return None
  side = _side(narrator, found)
  spans = answers(narrator, found, side, easy=case.easy)
  query = _query(narrator, found, side)
  if not spans or not query:
    return None
  return {
    "text": found.passage.text,
    "query": query,
    "entities": [[span.start, span.end] for span in found.passage.spans],
    "answers": [[span.start, span.end] for span in sorted(spans)],
    "meta": found.meta(side),
  }


def _side(narrator: Narrator, found: Setting) -> str:
  """Which entity of the fact the gap stands for."""
  focus, other = SUBJECT, OBJECT
  if found.focus.title == found.fact.object:
    focus, other = other, focus
  if found.fact.status == IMPLIED:
    return OBJECT
  return focus if narrator.rng.random() < FOCUS_SHARE else other


def _query(narrator: Narrator, found: Setting, side: str) -> str:
  """The fact in another wording than the passage's, if there is one."""
  passage = found.passage
  known = "" if found.told is None else passage.told[found.told].wording
  for _ in range(8):
    told = narrator.alone(found.fact)
    text, spans = plain(told.sentence)
    gaps = [span for span in spans if span.title == found.entity(side)]
    if _words(told.wording) != _words(known) and len(gaps) == 1:
      return text[: gaps[0].start] + GAP + text[gaps[0].end :]
  return ""


def _words(wording: str) -> set[str]:
  """A template's words beside names and nouns."""
  return set(SLOT.sub(" ", wording).lower().split()) - {"the"}
