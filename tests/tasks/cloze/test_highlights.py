"""Signs before summary lines as words."""

from hypothesis import given
from hypothesis import strategies as st

from luke_jax.tasks.cloze.highlights import highlighted

PARTS = st.lists(
  st.sampled_from(["Ana", " ", "\n", "@highlight", "x"]), min_size=1, max_size=12
).map("".join)


def test_a_line_break_before_and_after():
  text = "It is.\n@highlight\nAna met Bob\n@highlight\nBob left"
  read, spans = highlighted(text, [(18, 21), (26, 29)])
  assert read == "It is.[HIGHLIGHT] Ana met Bob[HIGHLIGHT] Bob left"
  assert [read[slice(*span)] for span in spans] == ["Ana", "Bob"]


def test_a_stretch_without_a_space_is_read_twice_by_the_authors():
  text = "Ana's.\n@highlight\nBob left"
  assert highlighted(text, [(0, 3)])[0] == "Ana's.[HIGHLIGHT] Bob left"
  twice = "Ana's. @highlight Bob left[HIGHLIGHT] Bob left"
  assert highlighted(text, [(0, 3)], twice=True)[0] == twice


@given(PARTS, st.data())
def test_spans_keep_their_texts(text, data):
  edges = st.tuples(st.integers(0, len(text)), st.integers(0, len(text))).map(sorted)
  spans = [tuple(x) for x in data.draw(st.lists(edges, max_size=3)) if x[0] < x[1]]
  for twice in (False, True):
    read, moved = highlighted(text, spans, twice=twice)
    for before, after in zip(spans, moved, strict=True):
      assert read[slice(*after)] == text[slice(*before)].replace("\n", " ")
