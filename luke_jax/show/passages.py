"""Answers in their passage."""

import html
from collections.abc import Sequence

from luke_jax.errors import InputError
from luke_jax.show.colours import hue
from luke_jax.show.marked import html_text
from luke_jax.show.picture import Picture
from luke_jax.show.predictions import NO_ANSWER
from luke_jax.show.tables import bars
from luke_jax.tasks.cloze.files import PLACEHOLDER
from luke_jax.tasks.evaluation import Mark
from luke_jax.tasks.predictions import Answer
from luke_jax.text.spans import checked_spans

LEAST = 0.2  # opacity of the faintest answer, where the best has 1


def answers(text: str, question: str, answers: Sequence[Answer], *, count: int = 5) -> Picture:
  """Draws a passage with the best answers to a question, fainter where less probable.

  The question may have a gap, as in cloze. `count` different answers are listed, each where it is
  most probable; an answer that overlaps a better one is not marked in the passage.
  """
  if count < 1:
    raise InputError(f"count: {count}; expected 1 or more")
  different: dict[str, Answer] = {}
  for answer in answers:
    different.setdefault(answer.text, answer)
  shown = list(different.values())[:count]
  spans = [(answer.start, answer.end) for answer in shown if answer.text]
  checked_spans(spans, len(text), "answers")
  ranked = [(rank, answer) for rank, answer in enumerate(shown, start=1) if answer.text]
  best = max((answer.score for _, answer in ranked), default=1.0) or 1.0
  ranked = [(rank, x) for rank, x in ranked if not _overlaps(x, shown[: rank - 1])]
  marks = [Mark(answer.start, answer.end, str(rank)) for rank, answer in ranked]
  shares = {str(rank): max(LEAST, answer.score / best) for rank, answer in ranked}
  colour = f"--hue: {hue('answer')}"
  marked = html_text(text, marks, lambda mark: f"{colour}; --share: {shares[mark.name]:.2f}")
  gap = '<span class="gap" title="the gap to fill">&nbsp;</span>'
  shown_question = html.escape(question).replace(PLACEHOLDER, gap)
  rows = [(f"{rank}  {x.text or NO_ANSWER}", x.score) for rank, x in enumerate(shown, start=1)]
  body = f'<h3>{shown_question}</h3><p class="marked" dir="auto">{marked}</p>{bars(rows)}'
  return Picture(body, question[:60])


def _overlaps(answer: Answer, better: Sequence[Answer]) -> bool:
  return any(x.text and x.start < answer.end and answer.start < x.end for x in better)
