"""The signs before the summary lines of a passage of ReCoRD, which are read as one word each."""

import itertools
import re
from collections.abc import Sequence

from luke_jax.text.special_tokens import Bounds

HIGHLIGHT_WORD = "[HIGHLIGHT]"
_SIGN = re.compile(r" *@highlight\b")


def highlighted(
  text: str, spans: Sequence[Bounds], *, twice: bool = False
) -> tuple[str, list[Bounds]]:
  """Returns a text with one word for each sign that no span overlaps, and the spans in it.

  Line breaks become spaces. With `twice` a stretch between spans is read as in the authors' code:
  if it has a sign but no space at its start, it is read whole, with the sign as text, and after it
  comes once more what follows the sign.
  """
  text = text.replace("\n", " ")
  edges = sorted({0, len(text), *itertools.chain.from_iterable(spans)})
  moved, parts, length = {}, [], 0
  for start, end in itertools.pairwise([*edges, len(text)]):
    moved[start] = length
    part = text[start:end]
    if not any(first <= start and end <= last for first, last in spans):
      spaced = not start or " " in text[start - 1 : start + 1]
      part = _with_words(part, whole_first=twice and not spaced)
    parts.append(part)
    length += len(part)
  return "".join(parts), [(moved[start], moved[end]) for start, end in spans]


def _with_words(part: str, whole_first: bool) -> str:
  before, *after = _SIGN.split(part)
  if whole_first and after:
    before = part.rstrip()
  return HIGHLIGHT_WORD.join([before, *after])
