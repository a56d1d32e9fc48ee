"""Words of texts, and texts of words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from luke_jax.tasks.ner.documents import PAPER, Reading, joined, sentences_of, words_of


def split(text):
  return [text[start:end] for start, end in words_of(text, 0, len(text))]


@pytest.mark.parametrize(
  ("text", "words"),
  [
    ("Smith's don't", ["Smith", "'s", "don", "'t"]),
    ("'select' (EU)...", ["'", "select", "'", "(", "EU", ")", "..."]),
    ("U.S. 3.5% co-op", ["U", ".", "S", ".", "3", ".", "5", "%", "co", "-", "op"]),
    ("हिन्दी में", ["हिन्दी", "में"]),
    ("e\u0301te\u0301", ["e\u0301te\u0301"]),
    ("Köln\u00a0東京", ["Köln", "東京"]),
    ("!?!?", ["!", "?", "!", "?"]),
    ("a" * 65, ["a" * 64, "a"]),
    (" \n\t", []),
  ],
)
def test_words(text, words):
  assert split(text) == words


@given(st.text())
def test_words_have_all_that_is_no_white_space(text):
  assert "".join(split(text)) == "".join(text.split())


@given(st.text(st.sampled_from("Ab. !\n?'")), st.sampled_from(["en", "de", "ja"]))
def test_sentences_are_the_whole_text(text, language):
  spans = list(sentences_of(text, language))
  assert "".join(text[start:end] for start, end in spans) == text


def test_the_spaces_of_the_paper():
  words = ["(", "EU", "'s", ")", "$", "5", "...", "„", "x", "'"]
  assert joined(words, PAPER).text == "( EU's)$ 5 ...„ x'"
  spaced = joined(words, Reading(every_word_spaced=True))
  assert spaced.text == " ( EU 's ) $ 5 ... „ x '"
  assert [spaced.text[start:end] for start, end in spaced.offsets] == words


def test_the_first_word_too_has_its_space():
  assert joined(["EU", "."], PAPER).text == " EU."
  assert joined(['"', "EU"], PAPER).text == '" EU'
