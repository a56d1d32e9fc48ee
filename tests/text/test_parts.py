"""Markers around entities, wherever those stand."""

from hypothesis import given
from hypothesis import strategies as st

from luke_jax.text.parts import NOT_TEXT, Part, RowEntity

MARKERS = [100, 101, 102, 103, 104, 105]
spans = st.tuples(st.integers(0, 7), st.integers(1, 8)).map(
  lambda pair: (min(pair), max(pair)) if pair[0] != pair[1] else (0, 8)
)


def part(length, spans, *, offsets=True):
  entities = [RowEntity(2, span, span, 0, number) for number, span in enumerate(spans)]
  return Part(list(range(length)), [(i, i + 1) for i in range(length)] * offsets, entities)


def test_entities_in_each_other_and_side_by_side():
  marked = part(5, [(1, 2), (0, 3), (3, 5), (2, 3)]).marked(MARKERS)
  assert marked.ids == [101, 0, 100, 1, 100, 103, 2, 103, 101, 102, 3, 4, 102]
  assert [entity.tokens for entity in marked.entities] == [(2, 5), (0, 9), (9, 13), (5, 8)]
  assert marked.offsets[3] == (1, 2) and marked.offsets[2] == NOT_TEXT


def test_entities_that_cross_and_one_place_twice():
  marked = part(4, [(0, 2), (1, 4), (1, 4)], offsets=False).marked(MARKERS)
  assert marked.ids == [100, 0, 101, 102, 1, 100, 2, 3, 102, 101]
  assert [entity.tokens for entity in marked.entities] == [(0, 6), (2, 10), (3, 9)]
  assert marked.offsets == []


@given(st.lists(spans, max_size=6))
def test_markers_enclose_what_the_entities_were(spans):
  plain = part(8, spans)
  marked = plain.marked(MARKERS)
  assert [id for id in marked.ids if id < 100] == plain.ids
  assert [o for o in marked.offsets if o != NOT_TEXT] == plain.offsets
  assert len(marked.ids) == len(marked.offsets) == 8 + 2 * len(spans)
  for marker, entity, (start, end) in zip(MARKERS, marked.entities, spans, strict=False):
    tokens = marked.ids[slice(*entity.tokens)]
    assert tokens[0] == tokens[-1] == marker
    assert [id for id in tokens if id < 100] == list(range(start, end))
