"""Batches of rows of like length: every row once an epoch, with little padding."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from luke_jax.errors import InputError
from luke_jax.pipeline import batches as pipeline
from luke_jax.pipeline.batches import Data, Lengths, TrainingBatches

WINDOW = 16


@pytest.fixture(scope="module", autouse=True)
def short_windows():
  with pytest.MonkeyPatch.context() as patch:
    patch.setattr(pipeline, "WINDOW", WINDOW)
    yield


def batches(records, count=3, size=4, longest=64, accumulation=1):
  """Training batches of records that are lengths."""
  lengths = Lengths.of(np.array(records), count, longest)

  def rows(numbers, _):
    return {"length": np.array(numbers)}

  return TrainingBatches(records, rows, 0, size, accumulation, np.arange(size), lengths)


@settings(max_examples=15)  # the order of records takes a while to look up
@given(
  st.lists(st.integers(2, 64), min_size=30, max_size=60), st.integers(2, 5), st.integers(0, 200)
)
def test_a_batch_fits_into_its_length_and_is_drawn_by_its_number_alone(records, count, number):
  made = batches(records, count)
  room = made.room(number)
  assert made(number)["length"].max() <= room and room in made.rooms and len(made.rooms) <= count
  assert all(length % 8 == 0 and length <= 64 for length in made.rooms)
  again = batches(records, count)
  for other in (number + 1, number):
    numbers = again.record_ids(other)
  assert made.record_ids(number) == numbers


def test_a_window_has_each_row_once():
  records = np.random.default_rng(0).integers(2, 64, 3 * 4 * WINDOW).tolist()
  made = batches(records)
  for window in range(3):
    numbers = range(window * WINDOW, (window + 1) * WINDOW)
    found = np.concatenate([made.positions(number).ravel() for number in numbers])
    first = window * WINDOW * 4
    assert sorted(found) == list(range(first, first + WINDOW * 4))
  epoch = [x for number in range(3 * WINDOW) for x in made.record_ids(number)]
  assert sorted(epoch) == list(range(len(records)))


@given(st.lists(st.integers(2, 64), min_size=1, max_size=60))
def test_more_lengths_have_no_more_padding(records):
  found = np.array(records)
  padded = [Lengths.of(found, number, 64).padded for number in (1, 2, 4)]
  assert padded == sorted(padded, reverse=True)
  room = {number: Lengths.of(found, 4, 64).room([number]) for number in range(len(records))}
  assert padded[2] == sum(room.values())


def test_records_are_read_as_often_at_any_time():
  """A run may end within a window."""
  made = batches(np.random.default_rng(0).integers(2, 64, 90).tolist(), size=16)
  for end in (5, 12, 29):
    read = np.bincount([x for number in range(end) for x in made.record_ids(number)], minlength=90)
    assert abs(read - end * 16 / 90).max() <= 2


def test_a_batch_has_rows_of_its_length_alone_but_for_the_last_ones():
  made = batches(np.random.default_rng(0).integers(2, 64, 180).tolist(), count=4, size=16)
  numbers = [np.searchsorted(made.rooms, made(n)["length"]).ravel() for n in range(WINDOW)]
  assert sum(len(np.unique(rooms)) > 1 for rooms in numbers) <= 3


def test_most_padding_goes():
  records = np.clip(np.random.default_rng(0).lognormal(2.8, 0.5, 2000), 2, 64).astype(int).tolist()
  made = batches(records, count=4, size=16)
  padded = sum(made.room(number) for number in range(100)) * 16
  real = sum(made(number)["length"].sum() for number in range(100))
  assert real < padded < 1.4 * real < 0.5 * 100 * 16 * 64


def test_the_lengths_are_those_with_the_least_padding():
  records = np.clip(np.random.default_rng(1).lognormal(2.5, 0.6, 300), 2, 64).astype(int)

  def padded(rooms):
    return sum(min(room for room in rooms if room >= length) for length in records)

  rooms = Lengths.of(records, 3, 64).rooms
  others = itertools.combinations(range(8, 65, 8), 3)
  assert padded(rooms) == min(padded(own) for own in others if own[-1] >= records.max())


def test_batches_are_not_in_order_of_length():
  made = batches(np.random.default_rng(0).integers(2, 64, 400).tolist())
  means = [made(number)["length"].mean() for number in range(WINDOW)]
  assert abs(np.corrcoef(means, range(WINDOW))[0, 1]) < 0.5


def test_micro_batches_share_a_length():
  made = batches(list(range(2, 66)), accumulation=2)
  assert made.positions(3).shape == (2, 2)


def test_lengths_below_one_are_refused():
  with pytest.raises(InputError, match=r"data.lengths: 0; expected a whole number from 1"):
    Data(lengths=0)
