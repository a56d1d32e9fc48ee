"""What is masked, how much of it, and behind what."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from luke_jax.errors import InputError
from luke_jax.pipeline.rows import MaskIds, Masking, mask_entities, mask_words

MASK, VOCABULARY = 4, 1000
STARTS = np.random.default_rng(0).random(VOCABULARY) < 0.7
WORDS = MaskIds(MASK, 2, VOCABULARY, STARTS)
ENTITIES = MaskIds(2, 3, VOCABULARY)


def words_of(ids):
  """The places of each word, plainly."""
  words = [[0]]
  for place in range(1, len(ids)):
    if STARTS[ids[place]]:
      words.append([])
    words[-1].append(place)
  return words


sequences = st.lists(st.integers(5, VOCABULARY - 1), min_size=1, max_size=120)


@given(sequences, st.integers(0, 2**32), st.floats(0.01, 0.6))
def test_whole_words_fill_the_share_and_nothing_else_changes(ids, seed, share):
  ids = np.array(ids, np.int32)
  masked = mask_words(ids, Masking(words=share), WORDS, np.random.default_rng(seed), slots=120)
  budget = max(1, round(share * len(ids)))
  chosen = set(masked.places.tolist())
  assert masked.places.tolist() == sorted(chosen) and 1 <= len(chosen) <= budget
  others = [place for place in range(len(ids)) if place not in chosen]
  np.testing.assert_array_equal(masked.ids[others], ids[others])
  words = words_of(ids)
  parted = [word for word in words if 0 < len(chosen & set(word)) < len(word)]
  if min(map(len, words)) > budget:
    assert len(chosen) == 1  # one piece, where no word fits
  else:
    assert not parted
    left = [len(word) for word in words if not chosen & set(word)]
    assert all(length > budget - len(chosen) for length in left)  # no other word would fit


@given(sequences, st.integers(0, 2**32))
def test_a_word_is_hidden_whole_or_stays_whole(ids, seed):
  ids = np.array(ids, np.int32)
  masking = Masking(words=1.0, random_words=0.0, unmasked_words=0.5)
  masked = mask_words(ids, masking, WORDS, np.random.default_rng(seed), slots=120)
  assert len(masked.places) == len(ids)
  for word in words_of(ids):
    assert (masked.ids[word] == MASK).all() or (masked.ids[word] == ids[word]).all()


@given(sequences, st.integers(0, 2**32), st.integers(1, 20))
def test_pieces_need_no_table_and_slots_are_a_limit(ids, seed, slots):
  ids = np.array(ids, np.int32)
  pieces = MaskIds(MASK, 2, VOCABULARY)
  masked = mask_words(ids, Masking(), pieces, np.random.default_rng(seed), slots=slots)
  assert len(masked.places) == min(slots, max(1, round(0.15 * len(ids))))


@given(sequences, st.integers(0, 2**32), st.integers(1, 40))
def test_covered_words_come_first_and_count(ids, seed, slots):
  ids, rng = np.array(ids, np.int32), np.random.default_rng(seed)
  covered = rng.random(len(ids)) < 0.2
  masked = mask_words(ids, Masking(), WORDS, rng, slots=slots, covered=covered)
  budget, chosen = max(1, round(0.15 * len(ids))), set(masked.places.tolist())
  assert 1 <= len(chosen) <= slots
  under = [word for word in words_of(ids) if covered[word].any()]
  taken = [word for word in under if chosen >= set(word)]
  used = sum(map(len, taken))
  assert all(len(word) > slots - used for word in under if word not in taken)
  if used:
    assert len(chosen) <= max(used, budget)


@given(st.integers(0, 60), st.integers(0, 2**32))
def test_of_any_entities_one_or_more_is_masked(count, seed):
  ids = np.arange(10, 10 + count, dtype=np.int32)
  masked = mask_entities(ids, Masking(), ENTITIES, np.random.default_rng(seed))
  assert len(masked.places) == min(count, max(1, round(0.15 * count)))
  assert (masked.ids[masked.places] == 2).all()
  assert (masked.ids != ids).sum() == len(masked.places)


def test_of_a_share_of_nothing_nothing_is_masked():
  ids, none = np.arange(10, 30, dtype=np.int32), Masking(words=0.0, entities=0.0)
  covered, rng = np.ones(20, bool), np.random.default_rng(0)
  words = mask_words(ids, none, WORDS, rng, slots=5, covered=covered)
  for masked in (words, mask_entities(ids, none, ENTITIES, rng)):
    assert not len(masked.places) and masked.ids.tolist() == ids.tolist()


def test_the_same_generator_masks_the_same():
  ids = np.arange(5, 105, dtype=np.int32)
  runs = [mask_words(ids, Masking(), WORDS, np.random.default_rng(7), slots=80) for _ in range(2)]
  for one, other in zip(*runs, strict=True):
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("whole_words", [True, False])
def test_rates_over_a_million_words(whole_words):
  rng, masking = np.random.default_rng(0), Masking(whole_words=whole_words)
  counts = dict.fromkeys(("all", "masked", "mask", "same"), 0)
  drawn = []
  while counts["all"] < 1_000_000:
    ids = rng.integers(5, VOCABULARY, rng.integers(100, 511)).astype(np.int32)
    masked = mask_words(ids, masking, WORDS, rng, slots=77)
    now = masked.ids[masked.places]
    same, mask = now == ids[masked.places], now == MASK
    drawn.append(now[~same & ~mask])
    counts["all"] += len(ids)
    counts["masked"] += len(now)
    counts["mask"] += int(mask.sum())
    counts["same"] += int(same.sum())
  share = {name: count / counts["all"] for name, count in counts.items()}
  assert share["masked"] == pytest.approx(0.15, abs=0.002)
  assert share["mask"] == pytest.approx(0.8 * 0.15, abs=0.002)
  assert share["same"] == pytest.approx(0.1 * 0.15, abs=0.002)
  others = np.concatenate(drawn)
  assert others.min() == 2 and others.max() == VOCABULARY - 1
  assert others.mean() == pytest.approx((2 + VOCABULARY - 1) / 2, rel=0.02)


def test_rates_of_entities():
  rng, masking = np.random.default_rng(0), Masking(random_entities=0.1, unmasked_entities=0.2)
  ids = np.arange(10, 510, dtype=np.int32)
  found = [mask_entities(ids, masking, ENTITIES, rng) for _ in range(2000)]
  assert all(len(masked.places) == 75 for masked in found)
  hidden = np.concatenate([masked.ids[masked.places] for masked in found])
  before = np.concatenate([ids[masked.places] for masked in found])
  assert (hidden == 2).mean() == pytest.approx(0.7, abs=0.005)
  assert (hidden == before).mean() == pytest.approx(0.2, abs=0.005)
  assert np.bincount(np.concatenate([masked.places for masked in found])).min() > 200


@pytest.mark.parametrize(
  ("fields", "line"),
  [
    ({"words": 1.5}, "words: 1.5; expected a share from 0 to 1"),
    ({"whole_words": 1}, "whole_words: 1; expected true or false"),
    ({"random_words": 0.6, "unmasked_words": 0.6}, "1.2 together; expected at most 1"),
    ({"word_stages": (0.3, 15)}, r"word_stages: \(0.3, 15\); expected a share from 0 to 1"),
    ({"word_stages": (0.3,)}, "stage_steps: None; expected a whole number from 1"),
    ({"stage_steps": 0}, "stage_steps: 0; expected a whole number from 1"),
  ],
)
def test_settings_that_mean_nothing(fields, line):
  with pytest.raises(InputError, match=line):
    Masking(**fields)
