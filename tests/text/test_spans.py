import numpy as np
import pytest

from luke_jax.errors import InputError
from luke_jax.text import join_words
from luke_jax.text.parts import checked_spans, cuts


def test_words_are_joined_by_spaces():
  joined = join_words(["Los", "Angeles", "is", "big"], [(0, 2), (3, 4)])
  assert joined.text == "Los Angeles is big"
  assert joined.offsets == [(0, 3), (4, 11), (12, 14), (15, 18)]
  assert [joined.text[start:end] for start, end in joined.spans] == ["Los Angeles", "big"]


def test_words_are_joined_as_told():
  joined = join_words(["It", "'s", "東", "京", "."], [(2, 4)], [False, False, True, False, False])
  assert joined.text == "It's 東京."
  assert joined.spans == [(5, 7)]


def test_no_words():
  assert join_words([]) == ("", [], [])


def test_spans_of_words_are_checked():
  with pytest.raises(InputError, match=r"words: span 1 is \(1, 5\); expected .* <= 2"):
    join_words(["a", "b"], [(0, 1), (1, 5)])
  for spans in (3, None):
    with pytest.raises(InputError, match=r"words: spans are .*; expected a list"):
      join_words(["a", "b"], spans)


@pytest.mark.parametrize(
  ("words", "message"),
  [
    ("Los Angeles", "words: a str; expected a list of strings"),
    (None, "words: a NoneType; expected a list of strings"),
    (iter(["Los"]), "words: a list_iterator; expected a list of strings"),
    (["Los", 3], "word 1: 3; expected a string that is not empty"),
    (["Los", ["Angeles"]], "word 1: ['Angeles']; expected a string that is not empty"),
    (["", "Los"], "word 0: ''; expected a string that is not empty"),
  ],
)
def test_faulty_words(words, message):
  with pytest.raises(InputError) as error:
    join_words(words)
  assert str(error.value) == message


def test_faulty_spaces():
  with pytest.raises(InputError, match="spaces: 1 given; expected 2"):
    join_words(["a", "b"], spaces=[True])
  with pytest.raises(InputError, match="spaces: True given; expected 2"):
    join_words(["a", "b"], spaces=True)


def test_spans_of_numpy_become_ints():
  (span,) = checked_spans(np.array([[1, 3]]), 3, "here")
  assert span == (1, 3)
  assert type(span[0]) is int


@pytest.mark.parametrize(
  "span", [(3, 2), (2, 2), (-1, 2), (0, 6), (0.0, 2.0), ("0", "2"), (1,), (1, 2, 3), 1, None]
)
def test_faulty_spans(span):
  with pytest.raises(InputError, match=r"^here: span 1 is .*; expected"):
    checked_spans([(0, 1), span], 5, "here")


def test_spans_that_are_no_list():
  with pytest.raises(InputError, match="here: spans are 3; expected a list of"):
    checked_spans(3, 5, "here")


def test_a_space_before_a_boundary_goes_to_the_next_piece():
  assert cuts("a bc  d\te", [(2, 4), (6, 7), (8, 9)]) == {2: 1, 4: 4, 6: 5, 7: 7, 8: 8, 9: 9}
