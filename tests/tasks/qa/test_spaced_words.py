"""Passages as spaced words, and the way back to their characters."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from luke_jax.tasks.qa.spaced_words import original, spaced_words
from luke_jax.text import Entity
from luke_jax.text.parts import Mentions

TEXTS = st.text("ab \t\n\u202f\u00a0", max_size=30)


def spaced(text, *spans):
  entities = [Entity(2, (0, 0), span, 0, i) for i, span in enumerate(spans)]
  return spaced_words(Mentions(text, entities, ""))


@given(TEXTS)
def test_every_character_comes_from_its_own(text):
  read, places = spaced(text)
  assert read.text.split(" ")[1:] == [x for x in text.translate(WHITE).split(" ") if x]
  inked = [i for i, character in enumerate(read.text) if character != " "]
  assert [text[places[i]] for i in inked] == [read.text[i] for i in inked]
  offsets = np.array([(i, i + 1) for i in inked], np.int32).reshape(-1, 2)
  assert [text[a:b] for a, b in original(offsets, places)] == [read.text[i] for i in inked]


WHITE = str.maketrans("\t\n\u202f", "   ")


def test_entities_keep_their_words():
  text = "  Ana\n\nof  Rome."
  read, _ = spaced(text, (2, 5), (7, 15))
  assert read.text == " Ana of Rome."
  assert [read.text[slice(*x.characters)] for x in read.entities] == ["Ana", "of Rome"]
