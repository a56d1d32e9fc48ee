"""Passages as the authors' code reads them: as words, with one space before each."""

import re

import numpy as np

from luke_jax.text.parts import Mentions

_WORD = re.compile("[^ \t\r\n\u202f]+")


def spaced_words(passage: Mentions) -> tuple[Mentions, np.ndarray]:
  """Returns a passage with one space before each word and no other white space.

  The array has the character of the passage for each of the new text's, a space for its word's.
  """
  words = [match.span() for match in _WORD.finditer(passage.text)]
  text = "".join(f" {passage.text[start:end]}" for start, end in words)
  starts = [range(start, end) for start, end in words]
  places = np.array([place for chars in starts for place in (chars[0], *chars)], np.int32)
  # Of characters of the passage, in the new text; white space goes with the word before it.
  moved = np.searchsorted(places, np.arange(len(passage.text)), "right") - 1
  entities = [
    entity._replace(characters=(int(moved[start]), int(moved[end - 1]) + 1))
    for entity in passage.entities
    for start, end in (entity.characters,)
  ]
  return passage._replace(text=text, entities=entities), places


def original(offsets: np.ndarray, places: np.ndarray) -> np.ndarray:
  """Returns offsets of tokens (T, 2) in the passage, from those in the text of spaced words."""
  if not len(offsets):
    return offsets
  return np.stack([places[offsets[:, 0]], places[offsets[:, 1] - 1] + 1], axis=1, dtype=np.int32)
