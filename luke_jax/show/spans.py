"""Entities in their text."""

from collections.abc import Sequence
from typing import Any

from luke_jax.errors import InputError
from luke_jax.show.marked import html_text, hues, joined
from luke_jax.show.picture import Picture
from luke_jax.tasks.predictions import Span
from luke_jax.text.spans import checked_spans


def entities(text: str, spans: Sequence[Any], *, labels: Sequence[str] = ()) -> Picture:
  """Draws a text with its entities, each label in a colour of its own.

  `spans` are what `model.predict` returns, or (start, end, label). Pictures with the same `labels`,
  such as all of a model's, have the same colours.
  """
  labelled = _labelled(text, spans)
  marks = joined(labelled)
  colours = hues([*labels, *(label for *_, label in labelled)])
  first = {(start, end): label for start, end, label in reversed(labelled)}
  colours |= {mark.name: colours[first[mark.start, mark.end]] for mark in marks}
  none = "" if marks else '<p class="note">nothing found</p>'
  body = f'<p class="marked" dir="auto">{html_text(text, marks, colours)}</p>{none}'
  return Picture(body, text[:60])


def _labelled(text: str, spans: Sequence[Any]) -> list[tuple[int, int, str]]:
  """Returns spans of either form as (start, end, label), checked."""
  plain = [(s.start, s.end, s.label) if isinstance(s, Span) else s for s in spans]
  for number, span in enumerate(plain):
    if not isinstance(span, tuple | list) or len(span) != 3 or not isinstance(span[2], str):
      raise InputError(f"span {number}: {span!r}; expected (start, end, label)")
  places = checked_spans([span[:2] for span in plain], len(text), "spans")
  return [(*place, span[2]) for place, span in zip(places, plain, strict=True)]
