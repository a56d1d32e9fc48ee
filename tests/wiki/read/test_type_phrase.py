"""Type phrases of sentences, most of which the rules once got wrong."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from luke_jax.wiki.read.facts import type_phrase
from luke_jax.wiki.read.type_grammars import GRAMMARS

SENTENCES = {
  "Ana Lee (born 1990 in Rome) is an Italian former skier who won twice.": "Italian former skier",
  "Ana Lee was the first and only president of the Old Club.": "president",
  "Ana Lee was a poet, painter, and folk singer from Rome.": "poet, painter, and folk singer",
  "Ana Lee was a poet and wrote the anthem.": "poet",
  "Ana Lee was a Member of the Senate of Rome.": "Member of the Senate",
  "Ana Lee was bishop of Rome.": "bishop",
  "The Ana is a species of small moth in the family Lees.": "species of small moth",
  "The Ana is a small, round fruit.": "small, round fruit",
  "The Ana is a slow but strong ship built in Rome.": "slow but strong ship",
  "The Ana is a 1999 film directed by Lee.": "film",
  "The Ana is a privately owned museum located in Rome.": "privately owned museum",
  "The Ana is one of the 33 oldest cities of Italy.": "city",
  "The Ana is the name of a village in Italy.": "village",
  "The Ana was the 12th final of the cup.": "final",
  "The Ana was the last of five.": None,
  "The Ana is a U.S. Navy ship.": "U.S. Navy ship",
  "The 1999 Ana football team represented Rome.": "football team",
  "Lee and Rossi were the defending champions.": None,
  "Ana may refer to: a moth.": None,
  "Anas are birds; they were the largest group then.": None,
  "Ana": None,
  "": None,
}


@pytest.mark.parametrize(("sentence", "phrase"), SENTENCES.items())
def test_sentences(sentence, phrase):
  assert type_phrase(sentence, "Ana", "en") == phrase


def test_titles():
  assert type_phrase('"What Is a Lee" is a song.', "What Is a Lee (song)", "en") == "song"
  assert type_phrase("Rome has seven hills.", "List of hills", "en") == "list"
  assert type_phrase("Ana is a moth.", "Ana (disambiguation)", "en") is None
  assert type_phrase("Ana ist eine Motte.", "Ana", "de") is None


words = st.sampled_from(
  [
    "is a",
    "was",
    "and",
    ",",
    "of",
    "the",
    "first",
    "one of the",
    "small",
    "Rome",
    "built",
    "(",
    ")",
    ";",
    "-",
    "ly",
    '"',
  ]
)


@given(st.lists(words, max_size=200).map(" ".join), st.sampled_from(["", "Rome", "is a"]))
def test_any_sentence(sentence, title):
  phrase = type_phrase(sentence, title, "en")
  assert phrase is None or (phrase and len(phrase.split()) <= 16)


@pytest.mark.parametrize(
  "again", [" is a", " a", "(", ", a b", " of the", " first", ";", " and b", " X-"]
)
def test_time(again):
  start = time.process_time()
  type_phrase("A is a " + again * 20_000, "A", "en")
  assert time.process_time() - start < 0.2


def test_the_words_of_a_language_are_written_once():
  for grammar in GRAMMARS.values():
    assert not grammar.ends & grammar.prepositions
    assert not grammar.after & (grammar.ends | grammar.prepositions | grammar.adjectives)
