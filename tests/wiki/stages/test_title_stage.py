"""Redirects lead where a walk along them leads."""

import dataclasses

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from luke_jax.wiki.stages.page_stage import HOPS, MakeTitles, Title, Titles, resolved


@st.composite
def next_titles(draw):
  """For each title the next one: its own number for a page, -1 for a title that is not there."""
  size = draw(st.integers(1, 40))
  return draw(st.lists(st.integers(-1, size - 1), min_size=size, max_size=size))


def walked(direct, start):
  place, seen = start, set()
  while place != -1 and direct[place] != place and place not in seen:
    seen.add(place)
    place = direct[place]
  if place == -1:
    return -1, "to_no_page" if len(seen) <= HOPS else "too_long"
  if direct[place] != place:
    return -1, "in_loops"
  return (place, "") if len(seen) <= HOPS else (-1, "too_long")


@given(next_titles())
def test_a_walk_of_some_hops(direct):
  targets, faults = resolved(np.array(direct, np.int32))
  expected = [walked(direct, start) for start in range(len(direct))]
  assert targets.tolist() == [target for target, _ in expected]
  assert faults["redirects_in_loops"] == sum(why == "in_loops" for _, why in expected)


def test_a_chain_that_is_too_long():
  chain = [*range(1, HOPS + 3), HOPS + 2]  # the last one is a page
  targets, faults = resolved(np.array(chain, np.int32))
  assert targets.tolist() == [-1, -1, *[HOPS + 2] * (HOPS + 1)]
  assert faults == {"redirects_in_loops": 0, "redirects_too_long": 2, "redirects_to_no_page": 0}


@dataclasses.dataclass
class OneShard:
  """What a finished stage of pages says of its titles."""

  titles: list[Title]

  def __len__(self):
    return 1

  def read_names(self, shard):
    return self


def test_a_redirect_to_itself_is_no_page(tmp_path):
  titles = [Title("A", None), Title("B", "B"), Title("C", "B")]
  faults = MakeTitles(tmp_path, OneShard(titles))(0)
  made = Titles(tmp_path)
  assert [made.page(title) for title in ("A", "B", "C", "D")] == [0, -1, -1, -1]
  assert faults["redirects_in_loops"] == 1 and faults["redirects_to_no_page"] == 1


def test_a_title_that_stands_twice_is_no_redirect(tmp_path):
  titles = [Title("A", None), Title("A", None), Title("B", "A")]
  faults = MakeTitles(tmp_path, OneShard(titles))(0)
  assert faults["titles_twice"] == 1 and faults["redirects_to_no_page"] == 0
  assert Titles(tmp_path).page("B") == 0
