"""Tags and chunks: the schemes by hand, and back and forth."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from luke_jax.errors import InputError
from luke_jax.tasks.ner.tags import (
  PREFIXES,
  SCHEMES,
  chunks,
  illegal,
  legal_chunks,
  may_follow,
  scheme_of,
  scheme_of_labels,
  tagged,
)
from luke_jax.tasks.predictions import Labelled

TAGS = {
  "IOB1": "I-PER I-PER I-PER B-PER O I-LOC I-PER",
  "IOB2": "B-PER I-PER I-PER B-PER O B-LOC B-PER",
  "BIOES": "B-PER I-PER E-PER S-PER O S-LOC S-PER",
  "BMESO": "B-PER M-PER E-PER S-PER O S-LOC S-PER",
}
CHUNKS = [(0, 3, "PER"), (3, 4, "PER"), (5, 6, "LOC"), (6, 7, "PER")]


@st.composite
def sentences(draw):
  """A number of words, and chunks in it that lie apart."""
  words, found = 0, []
  for _ in range(draw(st.integers(0, 6))):
    start = words + draw(st.integers(0, 2))
    words = start + draw(st.integers(1, 3))
    found.append(Labelled(start, words, draw(st.sampled_from(["PER", "LOC", "creative-work"]))))
  return words + draw(st.integers(0, 2)), found


@pytest.mark.parametrize("scheme", SCHEMES)
def test_schemes_by_hand(scheme):
  tags = TAGS[scheme].split()
  assert chunks(tags) == CHUNKS
  assert tagged([Labelled(*chunk) for chunk in CHUNKS], 7, scheme, "") == tags
  assert scheme_of([tags]) == scheme
  assert not list(illegal(tags, scheme))


@pytest.mark.parametrize(
  ("tags", "found"),
  [
    ("O I-PER I-PER O", [(1, 3, "PER")]),
    ("I-PER I-LOC E-LOC", [(0, 1, "PER"), (1, 3, "LOC")]),
    ("B-PER E-PER I-PER", [(0, 2, "PER"), (2, 3, "PER")]),
    ("S-PER I-PER", [(0, 1, "PER"), (1, 2, "PER")]),
    ("B-PER B-PER S-PER", [(0, 1, "PER"), (1, 2, "PER"), (2, 3, "PER")]),
    ("E-PER E-PER", [(0, 1, "PER"), (1, 2, "PER")]),
  ],
)
def test_illegal_tags_make_the_chunks_of_conlleval(tags, found):
  assert chunks(tags.split()) == found


@pytest.mark.parametrize(
  ("scheme", "tags", "places", "expected"),
  [
    ("IOB2", "O I-PER", [1], "B-PER"),
    ("IOB2", "B-LOC I-PER", [1], "B-PER"),
    ("IOB2", "B-LOC E-LOC", [1], "B-LOC or I-LOC"),
    ("IOB1", "O B-PER", [1], "I-PER"),
    ("IOB1", "I-LOC B-PER", [1], "I-PER"),
    ("BIOES", "B-PER O", [0], "I-PER or E-PER after it"),
    ("BIOES", "E-PER", [0], "B-PER or S-PER"),
    ("BIOES", "B-PER I-PER S-PER", [1], "I-PER or E-PER after it"),
    ("BIOES", "B-PER E-LOC", [0, 1], "I-PER or E-PER after it"),
    ("BIOES", "B-PER M-PER E-PER", [1], "I-PER"),
    ("BMESO", "B-PER I-PER E-PER", [1], "M-PER"),
    ("BMESO", "M-PER E-PER", [0], "B-PER or S-PER"),
    ("BMESO", "B-PER O", [0], "M-PER or E-PER after it"),
    ("IOB2", "B-LOC M-LOC", [1], "B-LOC or I-LOC"),
  ],
)
def test_what_is_illegal(scheme, tags, places, expected):
  found = list(illegal(tags.split(), scheme))
  assert [word for word, _ in found] == places
  assert f"expected {expected}, as the file's tags are {scheme}" in found[0].fault


@given(sentences(), st.sampled_from(SCHEMES))
def test_there_and_back(sentence, scheme):
  words, found = sentence
  tags = tagged(found, words, scheme, "")
  assert len(tags) == words
  assert chunks(tags) == found
  assert not list(illegal(tags, scheme))


@given(st.lists(sentences(), min_size=1), st.sampled_from(SCHEMES))
def test_the_scheme_is_told_by_the_tags(file, scheme):
  tags = [tagged(found, words, scheme, "") for words, found in file]
  other = scheme_of(tags)
  # Some tags are legal in two schemes; then both find the same in them.
  assert other == scheme or [tagged(found, words, other, "") for words, found in file] == tags


@given(st.lists(st.sampled_from(["O", *(f"{p}-{x}" for p in "BIES" for x in ("A", "B"))])))
def test_tags_that_stay_as_they_are_written_again_are_the_legal_ones(tags):
  for scheme in SCHEMES:
    again = tagged(chunks(tags), len(tags), scheme, "")
    assert (again == tags) == (not list(illegal(tags, scheme)))


def test_overlapping_spans_have_no_tags():
  with pytest.raises(InputError, match="here: a span in another, B; expected them apart, for tags"):
    tagged([Labelled(0, 2, "A"), Labelled(1, 3, "B")], 3, "IOB2", "here")


@given(sentences(), st.sampled_from(SCHEMES), st.sampled_from(SCHEMES))
def test_tags_of_one_scheme_become_those_of_another_and_come_back(sentence, one, other):
  words, found = sentence
  tags = tagged(found, words, one, "")
  others = tagged(chunks(tags), words, other, "")
  assert tagged(chunks(others), words, one, "") == tags
  assert legal_chunks(others, other) == found


def all_tags(scheme, labels):
  return ["O", *(f"{prefix}-{label}" for label in labels for prefix in PREFIXES[scheme])]


@given(st.data(), st.sampled_from(SCHEMES))
def test_tags_whose_neighbours_may_follow_are_legal(data, scheme):
  tags = data.draw(st.lists(st.sampled_from(all_tags(scheme, "XY")), min_size=1, max_size=6))
  pairs = zip(["O", *tags], [*tags, "O"], strict=True)
  assert all(may_follow(b, a, scheme) for a, b in pairs) == (not list(illegal(tags, scheme)))


@pytest.mark.parametrize(
  ("scheme", "labels", "count"), [("BIOES", "XY", 43), ("IOB2", "XY", 27), ("BMESO", "X", 19)]
)
def test_transitions_that_fastnlp_allows(scheme, labels, count):
  tags = all_tags(scheme, labels)
  inside = sum(may_follow(b, a, scheme) for a in tags for b in tags)
  edges = sum(may_follow(x, "O", scheme) + may_follow("O", x, scheme) for x in tags)
  assert inside + edges == count


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_model_shows_its_scheme(scheme):
  tags = [tag for tag in all_tags(scheme, "XY") if (scheme, tag) != ("IOB1", "B-Y")]
  assert scheme_of_labels(tags) == scheme
