"""Questions about passages, answered by a span: an entity, or the year of a fact."""

import re
from collections.abc import Mapping
from functools import cache

from ..sample_wiki.sentences import Row, Span, plain
from ..sample_wiki.telling import Filling
from ..sample_wiki.world import Fact, read_rows
from .asking import Setting, answers, asked_fact, is_question, setting
from .narrator import Case, Narrator
from .types import FOLDER

YEAR = "year"


@cache
def questions() -> Mapping[str, list[Row]]:
  """The questions about each relation; `asks` says for what."""
  table: dict[str, list[Row]] = {}
  for row in read_rows(FOLDER / "questions.tsv"):
    table.setdefault(row["relation"], []).append(row)
  return table


def draw(narrator: Narrator, case: Case) -> dict | None:
  """A question with its answers, or nothing where chance finds none."""
  fact = asked_fact(narrator, case)
  found = setting(narrator, fact, case)
  if not found:
    return None
  rows = questions()[fact.relation]
  asks = narrator.rng.choice(sorted({row["asks"] for row in rows}))
  row = narrator.rng.choice([row for row in rows if row["asks"] == asks])
  spans = _years(found) if asks == YEAR else answers(narrator, found, asks, easy=case.easy)
  return _example(narrator, found, row, spans) if spans else None


def draw_unanswerable(narrator: Narrator, case: Case) -> dict | None:
  """A question about something that the passage speaks of but does not tell."""
  case = case._replace(implied=False)
  fact = asked_fact(narrator, case)
  found = setting(narrator, fact, case, telling=False)
  rows = [row for row in questions()[fact.relation] if row["asks"] != YEAR]
  if not found:
    return None
  row = narrator.rng.choice(rows)
  named = found.passage.spans_of(found.entity(row["asks"]))
  if named or not is_question(narrator, found, row["asks"]):
    return None
  return _example(narrator, found, row, [])


def _years(found: Setting) -> list[Span]:
  """The year in the sentence that tells the fact, if it is there."""
  if found.told is None or not found.fact.year:
    return []
  start, end = found.passage.sentences[found.told]
  pattern = re.compile(rf"\b{found.fact.year}\b")
  return [Span(*match.span(), "") for match in pattern.finditer(found.passage.text, start, end)]


def _example(narrator: Narrator, found: Setting, row: Row, spans: list[Span]) -> dict:
  question, named = _question(narrator, found.fact, row["text"])
  title = {"title": found.focus.title} if found.focus.seen == "yes" else {}
  return {
    **title,
    "text": found.passage.text,
    "question": question,
    "entities": _linked(narrator, found.passage.spans),
    "question_entities": _linked(narrator, named),
    "answers": [[span.start, span.end] for span in spans],
    "meta": found.meta(row["asks"]),
  }


def _question(narrator: Narrator, fact: Fact, template: str) -> tuple[str, list[Span]]:
  teller, entities = narrator.teller, narrator.world.entities
  teller.focus = None
  teller.known.clear()
  slots = {"s": entities[fact.subject], "o": entities[fact.object]}
  return plain(Filling(teller, slots, slots["s"], (fact,)).sentence(template))


def _linked(narrator: Narrator, spans: list[Span] | tuple[Span, ...]) -> list[list]:
  """The mentions of entities that have a page."""
  return [list(span) for span in spans if narrator.world.entities[span.title].seen == "yes"]
