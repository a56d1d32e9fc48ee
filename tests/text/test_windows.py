import pytest

from luke_jax.errors import InputError
from luke_jax.text.parts import Part, RowEntity, centred, even_groups, longest_first, sliding


def part(length, *spans):
  entities = [RowEntity(2, span, span, 0, number) for number, span in enumerate(spans)]
  return Part(list(range(length)), [], entities)


def starts(parts):
  return [window.ids[0] for window in parts]


def test_windows_start_a_stride_apart():
  windows = sliding(part(25), 10, 4)
  assert starts(windows) == [0, 4, 8, 12, 16]
  assert [len(window.ids) for window in windows] == [10, 10, 10, 10, 9]


def test_a_text_that_fits_is_one_window():
  assert starts(sliding(part(10), 10, 4)) == [0]
  assert sliding(part(0), 10, 4) == [part(0)]


def test_no_token_is_left_out_by_a_long_stride():
  assert starts(sliding(part(25), 10, 99)) == [0, 10, 20]


def test_a_window_starts_sooner_for_an_entity_that_would_lie_in_none():
  windows = sliding(part(30, (8, 13), (17, 27)), 10, 10)
  assert starts(windows) == [0, 8, 17, 27]
  assert [[e.number for e in window.entities] for window in windows] == [[], [0], [1], []]
  assert windows[1].entities[0].tokens == (0, 5)


def test_an_entity_that_ends_with_a_window_moves_none():
  assert starts(sliding(part(30, (7, 10)), 10, 10)) == [0, 10, 20]


def test_an_entity_longer_than_a_window_moves_none():
  windows = sliding(part(30, (5, 16)), 10, 10)
  assert starts(windows) == [0, 10, 20]
  assert not any(window.entities for window in windows)


@pytest.mark.parametrize(
  ("span", "start"), [((0, 2), 0), ((10, 12), 6), ((28, 30), 20), ((10, 20), 10)]
)
def test_a_centred_window(span, start):
  window = centred(part(30, span), 10, "here")
  assert window.ids == list(range(start, start + 10))
  assert window.entities[0].tokens == (span[0] - start, span[1] - start)


def test_a_centred_window_of_a_short_text():
  assert centred(part(5, (1, 2)), 10, "here") == part(5, (1, 2))


def test_entities_too_far_apart_for_one_window():
  with pytest.raises(InputError, match="here: its entities span 27 tokens; expected at most 10"):
    centred(part(30, (1, 2), (20, 28)), 10, "here")


def test_the_longer_text_is_cut_first():
  assert longest_first([3, 4], 10) == [3, 4]
  assert longest_first([3, 20], 10) == [3, 7]
  assert longest_first([20, 3], 10) == [7, 3]
  assert longest_first([20, 20], 11) == [6, 5]
  assert longest_first([20], 11) == [11]


def test_groups_are_even():
  entities = part(9, *[(i, i + 1) for i in range(7)]).entities
  assert [len(group) for group in even_groups(entities, 3)] == [3, 3, 1]
  assert [len(group) for group in even_groups(entities, 5)] == [4, 3]
  assert even_groups(entities, 7) == [entities]
  assert even_groups([], 3) == [[]]
