"""The ledger's parts add up to the wall clock, whatever is nested, raised or restarted."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from luke_jax.training.directory import PARTS, Ledger

waits = st.integers(0, 10**15)
# A wait, or parts within a part.
turns = st.recursive(
  waits, lambda inner: st.tuples(st.sampled_from(PARTS), st.lists(inner, max_size=4)), max_leaves=20
)


class Clock:
  def __init__(self, now=0):
    self.now = now

  def __call__(self):
    return self.now


def spend(ledger, clock, turn, part, expected):
  """Lives through a turn and notes what it ought to be charged to."""
  if isinstance(turn, int):
    clock.now += turn
    expected[part] += turn
    return
  with ledger.part(turn[0]):
    for inner in turn[1]:
      spend(ledger, clock, inner, turn[0], expected)


@given(waits, st.lists(turns))
def test_every_moment_is_charged_to_the_innermost_part(began, life):
  clock = Clock(began)
  ledger, expected = Ledger(clock=clock), dict.fromkeys(PARTS, 0)
  for turn in life:
    spend(ledger, clock, turn, "step", expected)
    assert ledger.state() == expected
    assert sum(ledger.state().values()) == clock.now - began
  assert ledger.seconds == {part: spent / 1e9 for part, spent in expected.items()}
  assert ledger.wall == (clock.now - began) / 1e9


@given(st.lists(st.tuples(waits, st.lists(turns), st.integers(0, 10**6))))
def test_restarts_add_up(processes):
  state, expected = None, dict.fromkeys(PARTS, 0)
  for began, life, lost in processes:
    clock = Clock(began)
    ledger = Ledger(state and json.loads(json.dumps(state)), clock=clock)
    ledger.add_lost(lost)
    expected["lost"] += lost * 10**9
    for turn in life:
      spend(ledger, clock, turn, "step", expected)
    state = ledger.state()
  assert (state or expected) == expected


def test_what_went_before_can_be_added_within_a_part():
  clock = Clock()
  ledger = Ledger(clock=clock)
  with ledger.part("start"):
    clock.now += 3
    ledger.add_previous({"start": 10, "step": 100})
    clock.now += 4
    assert ledger.state() == dict.fromkeys(PARTS, 0) | {"start": 17, "step": 100}


def test_a_part_ends_when_it_raises():
  clock = Clock()
  ledger = Ledger(clock=clock)
  with pytest.raises(OSError), ledger.part("checkpoint"):
    clock.now += 2
    raise OSError
  clock.now += 5
  assert ledger.state() == dict.fromkeys(PARTS, 0) | {"checkpoint": 2, "step": 5}


def test_share_of_waiting():
  clock = Clock()
  ledger = Ledger(clock=clock)
  assert ledger.share("data") == 0
  with ledger.part("compile"):
    clock.now += 1000
  with ledger.part("data"):
    clock.now += 1
  clock.now += 3
  assert ledger.share("data") == 0.25


def test_the_real_clock():
  ledger = Ledger()
  first = ledger.wall
  with ledger.part("data"):
    pass
  assert 0 <= first <= ledger.wall < 60


def test_no_such_part():
  with pytest.raises(KeyError), Ledger().part("lunch"):
    pass
