"""Records as rows: every word and mention in its place, whatever the batch around it."""

import dataclasses

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from toy_corpus import toy_records, write_corpus

from luke_jax.errors import InputError
from luke_jax.pipeline.rows import Masking, RowMaker, RowSizes, read_entities, read_words
from luke_jax.pipeline.stored import Record

SIZES = RowSizes(40, 8, 3, *Masking().slots(40, 8), page=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
  return write_corpus(tmp_path_factory.mktemp("rows") / "corpus", toy_records(2))


@pytest.fixture(scope="module")
def make(folder):
  return RowMaker(SIZES, Masking(), read_words(folder), read_entities(folder, 43))


@st.composite
def records(draw):
  length = draw(st.integers(1, 38))
  words = draw(st.lists(st.integers(5, 500), min_size=length, max_size=length))
  mentions = st.tuples(st.integers(0, length - 1), st.integers(1, 6), st.integers(1, 42))
  found = sorted(draw(st.lists(mentions, max_size=8)))
  starts = [start for start, _, _ in found]
  ends = [min(start + size, length) for start, size, _ in found]
  entities = [entity for _, _, entity in found]
  return Record(
    draw(st.integers(-1, 42)), *(np.array(x, np.int32) for x in (words, entities, starts, ends))
  )


def generators(seed, count):
  return [np.random.default_rng((seed, number)) for number in range(count)]


@given(st.lists(records(), min_size=1, max_size=3), st.integers(0, 2**32))
def test_a_row_holds_its_record(make, found, seed):
  rows = make(found, generators(seed, len(found)))
  assert {name: x.shape[1:] for name, x in rows.items()} == SIZES.shapes
  assert all(x.dtype == np.int32 for x in rows.values())
  for number, record in enumerate(found):
    row = {name: x[number] for name, x in rows.items()}
    check_words(row, record)
    check_entities(row, record)
    assert row["page_ids"] == record.page_id


def check_words(row, record):
  length = len(record.word_ids) + 2
  ids, kept = row["input_ids"].copy(), row["labels"] != -100
  assert row["attention_mask"].sum() == row["attention_mask"][:length].sum() == length
  assert kept[: kept.sum()].all() and kept.sum() >= 1
  places = row["masked_positions"][kept]
  assert places.min() >= 1 and places.max() < length - 1 and (np.diff(places) > 0).all()
  ids[places] = row["labels"][kept]
  assert ids[:length].tolist() == [0, *record.word_ids, 2]
  assert (ids[length:] == 1).all() and not row["masked_positions"][~kept].any()


def check_entities(row, record):
  count = len(record.entity_ids)
  ids, kept = row["entity_ids"].copy(), row["entity_labels"] != -100
  assert row["entity_attention_mask"].tolist() == [1] * count + [0] * (8 - count)
  assert kept.sum() == (max(1, round(0.15 * count)) if count else 0)
  places = row["masked_entity_positions"][kept]
  assert (ids[places] == 2).all()
  ids[places] = row["entity_labels"][kept]
  assert ids.tolist() == [*record.entity_ids, *[0] * (8 - count)]
  positions = row["entity_position_ids"]
  for k, (start, end) in enumerate(zip(record.mention_starts, record.mention_ends, strict=True)):
    words = [*range(start + 1, end + 1)][:3]  # after <s>
    assert positions[k].tolist() == words + [-1] * (3 - len(words))
  assert (positions[count:] == -1).all()


@given(st.lists(records(), min_size=2, max_size=4), st.integers(0, 2**32))
def test_a_row_does_not_depend_on_the_rows_around_it(make, found, seed):
  together = make(found, generators(seed, len(found)))
  for number, (record, rng) in enumerate(zip(found, generators(seed, len(found)), strict=True)):
    alone = make([record], [rng])
    for name, x in alone.items():
      np.testing.assert_array_equal(x[0], together[name][number])


@given(records(), st.integers(0, 2**32))
def test_words_of_masked_entities_go_first(make, record, seed):
  masking = Masking(mask_words_in_entity_span=True, whole_words=False)
  row = dataclasses.replace(make, masking=masking)([record], generators(seed, 1))
  labelled, entities = row["labels"][0] != -100, row["entity_labels"][0] != -100
  masked = set((row["masked_positions"][0][labelled] - 1).tolist())
  under = set()
  for place in row["masked_entity_positions"][0][entities]:
    under |= set(range(record.mention_starts[place], record.mention_ends[place]))
  if len(under) <= SIZES.masked_words:
    assert under <= masked
  else:
    assert masked <= under and len(masked) == SIZES.masked_words


def test_rows_of_bert_have_its_special_tokens_and_mask_whole_words(tmp_path):
  found = toy_records(40)
  words = read_words(write_corpus(tmp_path / "corpus", found, kind="word_piece"))
  special, starts = words.special, words.ids.starts
  assert (special.pad, special.start, special.end) == (0, 3, 4) and words.ids.mask == 5
  sizes = dataclasses.replace(SIZES, entities=0, page=False)
  rows = RowMaker(sizes, Masking(), words, None)(found, generators(0, len(found)))
  for ids, mask, record in zip(rows["input_ids"], rows["attention_mask"], found, strict=True):
    length = len(record.word_ids) + 2
    assert (ids[0], ids[length - 1]) == (3, 4) and not ids[length:].any() and mask.sum() == length
  continued = np.flatnonzero(~starts)
  record = dataclasses.replace(found[0], word_ids=np.r_[300, continued[:3], 301].astype(np.int32))
  all_masked = Masking(words=1.0, random_words=0.0, unmasked_words=0.5)
  for seed in range(8):
    (ids,) = RowMaker(sizes, all_masked, words, None)([record], generators(seed, 1))["input_ids"]
    assert set(ids[1:5] == 5) in ({True}, {False})  # one word of four pieces


def test_rows_of_words_only(make):
  sizes = dataclasses.replace(SIZES, entities=0, page=False)
  rows = dataclasses.replace(make, sizes=sizes, entities=None)(toy_records(3), generators(0, 3))
  assert set(rows) == {"input_ids", "attention_mask", "masked_positions", "labels"}


def test_records_that_a_row_cannot_hold_are_refused(make):
  (record,) = toy_records(1)
  for changed, line in (
    ({"word_ids": np.arange(39)}, "a record of 39 words; expected 1 to 38, as task.words"),
    ({"word_ids": np.arange(0)}, "a record of 0 words"),
    ({"entity_ids": np.arange(9)}, "a record of 9 entities; expected at most 8"),
  ):
    with pytest.raises(InputError, match=line):
      make([dataclasses.replace(record, **changed)], generators(0, 1))
