"""Entities in their text."""

from collections.abc import Sequence
from typing import Any

from luke_jax.errors import InputError
from luke_jax.show.marked import html_text
from luke_jax.show.picture import Picture
from luke_jax.tasks.evaluation import Mark, outcomes
from luke_jax.tasks.predictions import Span
from luke_jax.text.spans import checked_spans


def entities(text: str, spans: Sequence[Any], *, gold: Sequence[Any] | None = None) -> Picture:
  """Draws a text with its entities, each label in its colour, which is the same in all pictures.

  `spans` are what `model.predict` returns, or (start, end, label). A span with several labels has
  the colour of the first. With `gold`, the spans that are expected, signs say which are right,
  wrong or missing.
  """
  marks = _marks(text, spans)
  if gold is not None:
    judged = outcomes(_marks(text, gold), marks)
    marks = [mark._replace(outcome=outcome) for mark, outcome in judged]
  none = "" if marks else '<p class="note">nothing found</p>'
  body = f'<p class="marked" dir="auto">{html_text(text, marks)}</p>{none}'
  return Picture(body, text[:60])


def _marks(text: str, spans: Sequence[Any]) -> list[Mark]:
  """Returns marks for spans of either form, checked."""
  plain = [(s.start, s.end, s.label) if isinstance(s, Span) else s for s in spans]
  for number, span in enumerate(plain):
    if not isinstance(span, tuple | list) or len(span) != 3 or not isinstance(span[2], str):
      raise InputError(f"span {number}: {span!r}; expected (start, end, label)")
  places = checked_spans([span[:2] for span in plain], len(text), "spans")
  return [Mark(*place, span[2]) for place, span in zip(places, plain, strict=True)]
