"""Unicode's normal forms in a time that grows no faster than the text."""

import itertools
import unicodedata
from typing import Literal

_LONGEST = 256  # characters that Python normalizes in a few microseconds, whatever they are


def normalized_form(form: Literal["NFC", "NFD"], text: str) -> str:
  """Returns the text in a normal form.

  Python sorts a run of combining marks in a time that grows with the square of its length, so
  longer texts get theirs sorted first.
  """
  return unicodedata.normalize(form, text if len(text) <= _LONGEST else _sorted_marks(text))


def _sorted_marks(text: str) -> str:
  """Returns the text decomposed and its marks in the canonical order, which is no other text."""
  decomposed = "".join([unicodedata.normalize("NFD", character) for character in text])
  runs = itertools.groupby(decomposed, key=lambda character: unicodedata.combining(character) > 0)
  return "".join(
    ["".join(sorted(run, key=unicodedata.combining) if marks else run) for marks, run in runs]
  )
