"""Sentences joined are the text."""

import time

import pytest
import sentencex
from hypothesis import given
from hypothesis import strategies as st

from luke_jax.text.sentences import split_sentences

LANGUAGES = ("en", "de", "ja", "hi", "ar", "xx", "zh-min-nan")


@given(st.text(), st.sampled_from(LANGUAGES))
def test_sentences_joined_are_any_text_with_single_spaces(text, language):
  text = " ".join(text.split())
  assert "".join(split_sentences(text, language)) == text


def test_an_abbreviation_of_the_language_ends_no_sentence():
  first, second = split_sentences("Er kam z.B. aus Köln. Dann ging er.", "de")
  assert (first.strip(), second.strip()) == ("Er kam z.B. aus Köln.", "Dann ging er.")


@given(st.lists(st.text(max_size=6), min_size=1, max_size=5), st.sampled_from(LANGUAGES))
def test_sentences_joined_are_long_texts_too(parts, language):
  text = " ".join(("".join(parts) * 3_000).split())[:12_000]
  sentences = split_sentences(text, language)
  assert "".join(sentences) == text
  assert all(sentences) or not text


PROSE = (
  'He asked: "Why not?" and left (as Dr. Moss said, at 5 p.m. on Jan. 3) for the U.S. coast. ',
  "Nobody, not even 'the old one', knew. Was it 3.5 km? It was! «Yes.» It's J. R. Tolkien's. ",
)


@pytest.mark.parametrize("prose", PROSE)
def test_windows_find_the_sentences_of_the_whole(prose):
  text = prose * (20_000 // len(prose))
  assert split_sentences(text, "en") == sentencex.segment("en", text)


def test_a_long_paragraph_of_japanese_takes_no_time():
  text = "東京は日本の首都である。" * (80_000 // 12)
  start = time.process_time()
  sentences = split_sentences(text, "ja")
  assert time.process_time() - start < 0.5  # sentencex takes 2.8 s
  assert sentences == ["東京は日本の首都である。"] * (80_000 // 12)
