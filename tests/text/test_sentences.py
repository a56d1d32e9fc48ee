"""Sentences joined are the text."""

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
