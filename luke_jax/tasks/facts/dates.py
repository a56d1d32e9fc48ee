"""Dates in a text, found by rules: what a fact may have as its tail."""

import re
from collections.abc import Iterator

from luke_jax.text.tokenizer import Bounds

_MONTH = (
  r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?"
  r"|Sept?(?:ember)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)\.?"
)
_YEAR, _DAY = r"(?:1\d{3}|20\d{2})", r"(?:[12]\d|3[01]|0?[1-9])(?:st|nd|rd|th)?"
_DATES = re.compile(
  rf"(?<![\w.-])(?:{_DAY} {_MONTH},? {_YEAR}|{_MONTH} {_DAY},? {_YEAR}|{_DAY} {_MONTH}(?!\w)"
  rf"|{_MONTH} {_DAY}|{_MONTH},? {_YEAR}|{_YEAR}-\d\d-\d\d|{_YEAR}s?)(?![\w-]|\.\d)"
)


def dates_in(text: str) -> Iterator[Bounds]:
  """Yields the dates and years of a text that are written out, in order."""
  return (match.span() for match in _DATES.finditer(text))
