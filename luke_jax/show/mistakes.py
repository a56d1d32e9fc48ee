"""Mistakes of one text together, and the parts of the text that show them."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from luke_jax.tasks.evaluation import Mark, Mistake
from luke_jax.text.special_tokens import Bounds

SURROUNDINGS = 100  # characters of a text before and after its marks
LEFT_OUT = "…"


class Case(NamedTuple):
  """A text, as far as it is near its marks, and the mistakes in it."""

  text: str
  marks: Sequence[Mark]
  mistakes: Sequence[Mistake]  # the worst first


def cases(mistakes: Iterable[Mistake]) -> list[Case]:
  """Returns the mistakes, those of the same text together, in the order of the worst of each."""
  together: dict[tuple[str, str, str], list[Mistake]] = {}
  for mistake in mistakes:
    together.setdefault((mistake.id, mistake.question, mistake.text), []).append(mistake)
  marks = ([mark for mistake in same for mark in mistake.marks] for same in together.values())
  return [
    Case(*excerpt(text, list(dict.fromkeys(own))), same)
    for ((_, _, text), same), own in zip(together.items(), marks, strict=True)
  ]


def excerpt(text: str, marks: Sequence[Mark]) -> tuple[str, list[Mark]]:
  """Returns the parts of a text around its marks, and the marks moved accordingly."""
  shown, moved, end = "", [], 0
  for start, end in _stretches(text, marks):
    if start:
      shown += f" {LEFT_OUT} " if shown else f"{LEFT_OUT} "
    shift = len(shown) - start
    inside = (mark for mark in marks if start <= mark.start and mark.end <= end)
    moved += [m._replace(start=m.start + shift, end=m.end + shift) for m in inside]
    shown += text[start:end]
  return shown + (f" {LEFT_OUT}" if end < len(text) else ""), moved


def _stretches(text: str, marks: Iterable[Mark]) -> list[Bounds]:
  """Returns the stretches of a text that are at marks or near them; without marks its beginning."""
  stretches: list[Bounds] = []
  for start, end in sorted((mark.start, mark.end) for mark in marks):
    start, end = _before(text, start), _after(text, end)
    if stretches and start <= stretches[-1][1]:
      start, end = stretches[-1][0], max(end, stretches.pop()[1])
    stretches.append((start, end))
  return stretches or [(0, _after(text, 3 * SURROUNDINGS))]


def _before(text: str, mark: int) -> int:
  """Returns where the text shown before a mark starts, at a word if there is any."""
  first = max(0, mark - SURROUNDINGS)
  return text.find(" ", first, mark) + 1 or first if first else 0


def _after(text: str, mark: int) -> int:
  """Returns where the text shown after a mark ends, at a word if there is any."""
  last = mark + SURROUNDINGS
  if last >= len(text):
    return len(text)
  space = text.rfind(" ", mark, last)
  return last if space < 0 else space
