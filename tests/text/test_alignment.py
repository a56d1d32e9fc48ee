"""Entities beside the word pieces that name them."""

import pytest

from luke_jax.errors import InputError
from luke_jax.text.alignment import align, checked_links

#          Jim     Hen    ##son   was      a   pup..    ##eer      .
OFFSETS = [(0, 3), (4, 7), (7, 10), (11, 14), (15, 16), (17, 23), (23, 26), (26, 27)]
STARTS = [True, True, False, True, True, True, False, True]


@pytest.mark.parametrize(
  ("how", "expected"),
  [
    ("first", [0, -1, -1, -1, -1, 1, -1, -1]),
    ("all", [0, 0, 0, -1, -1, 1, 1, -1]),
    ("alternate", [0, -1, 0, -1, -1, 1, -1, -1]),
  ],
)
def test_pieces_that_an_entity_is_beside(how, expected):
  assert align(OFFSETS, STARTS, [(0, 10), (17, 26)], how).tolist() == expected


@pytest.mark.parametrize(
  ("span", "what"),
  [((7, 10), "begins inside of a word"), ((3, 7), "begins with a space"), ((30, 33), "is cut off")],
)
def test_a_mention_that_does_not_begin_a_word_is_beside_none(span, what):
  assert set(align(OFFSETS, STARTS, [span], "all").tolist()) == {-1}, what


def test_special_tokens_and_later_mentions_of_a_token_get_nothing():
  offsets = [(-1, -1), *OFFSETS, (-1, -1)]
  found = align(offsets, [True, *STARTS, True], [(0, 3), (0, 10)], "all")
  assert found.tolist() == [-1, 0, -1, -1, -1, -1, -1, -1, -1, -1]


@pytest.mark.parametrize(
  ("links", "message"),
  [
    ("Q1", "'Q1'; expected a list"),
    ([["Q1", 0]], r"link 0: \['Q1', 0\]; expected \[entity, start, end\]"),
    ([["Q1", 0, 3], ["Q2", 5, 12]], r"link 1: span 0 is \(5, 12\); expected 0 <= start < end <= 9"),
    ([["Q1", 3, 3]], r"link 0: span 0 is \(3, 3\)"),
    ([["Q1", 0, 3, "sure"]], "link 0: score 'sure'; expected a number"),
    ([[1, 0, 3]], "link 0"),
  ],
)
def test_links_outside_of_a_text_are_refused(links, message):
  with pytest.raises(InputError, match=message):
    checked_links(links, 9, "text")
