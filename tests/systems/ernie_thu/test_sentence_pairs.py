"""Pairs of sentences with entities: the authors' files, and those made of documents."""

import pickle
import struct

import numpy as np
import pytest

from data.ernie_thu.pairs import write_instances
from data.ernie_thu.sentence_pairs import (
  PairMaker,
  PairSettings,
  Pieces,
  first_pieces,
  read_documents,
)
from luke_jax.errors import InputError
from luke_jax.pipeline.rows import MaskIds
from luke_jax.pipeline.stored import StoredInstances
from luke_jax.systems.ernie_thu.pretraining import corrupted
from luke_jax.text.tokenizer import BERT, SpecialTokens

SPECIAL = SpecialTokens(dict(zip(BERT, (2, 0, 3, 1, 4), strict=True)), (), BERT)
VOCABULARY = MaskIds(4, 1, 900)


def documents(count=12, sentences=9):
  """Documents whose words say which document and sentence they are of, each second one linked."""
  made = []
  for number in range(count):
    document = []
    for sentence in range(sentences):
      ids = np.full(4 + sentence, 100 + 10 * number + sentence, np.int32)
      document.append(Pieces(ids, np.where(np.arange(len(ids)) % 2, -1, number).astype(np.int32)))
    made.append(document)
  return made


def maker(**settings):
  return PairMaker(
    PairSettings(**{"words": 32, "least_entities": 2} | settings), SPECIAL, VOCABULARY
  )


def whole(instance):
  """The words before masking."""
  return np.where(instance.labels < 0, instance.input_ids, instance.labels)


def test_pairs_are_of_consecutive_sentences_or_of_two_documents():
  pairs = list(maker(together=6).pairs(documents()))
  assert len(pairs) > 40
  assert 0.3 < np.mean([pair.random_next for pair in pairs]) < 0.8
  for pair in pairs:
    ids, second = whole(pair), pair.token_type_ids == 1
    assert len(ids) <= 32
    assert [ids[0], ids[~second][-1], ids[-1]] == [2, 3, 3]
    sides = ids[~second][1:-1], ids[second][:-1]
    first, other = ({(int(id) - 100) // 10 for id in side} for side in sides)
    assert len(first) == len(other) == 1
    assert (first != other) == pair.random_next
    assert {*first, *other} <= set(range(6)) or {*first, *other} <= set(range(6, 12))
    if not pair.random_next:
      follows = np.concatenate(sides)
      assert (np.diff(follows) >= 0).all()
    assert pair.entities[0] == pair.entities[-1] == -1


def test_words_are_masked_as_in_bert():
  pairs = list(maker(least_entities=0).pairs(documents(60)))
  masked = np.concatenate([pair.labels >= 0 for pair in pairs])
  ids = np.concatenate([pair.input_ids for pair in pairs])[masked]
  labels = np.concatenate([pair.labels for pair in pairs])[masked]
  words = sum(len(pair.labels) - 3 for pair in pairs)
  assert masked.sum() / words == pytest.approx(0.15, abs=0.02)
  assert (ids == 4).mean() == pytest.approx(0.8, abs=0.05)
  assert (ids == labels).mean() == pytest.approx(0.1, abs=0.04)


def test_pairs_of_few_entities_are_dropped_and_counted():
  strict, loose = maker(least_entities=9), maker(least_entities=0)
  kept, every = (list(x.pairs(documents())) for x in (strict, loose))
  assert len(kept) + strict.dropped == len(every)
  assert strict.dropped > 0 == loose.dropped
  assert all((pair.entities >= 0).sum() >= 9 for pair in kept)


def test_the_same_seed_makes_the_same_pairs():
  one, again, other = (
    [pair.input_ids.tolist() for pair in maker(seed=seed).pairs(documents())] for seed in (0, 0, 1)
  )
  assert one == again != other


@pytest.mark.parametrize(
  ("how", "expected"),
  [
    ("first", [5, -1, -1, -1, 6, 5, -1]),
    ("alternate", [5, -1, 5, -1, 6, 5, -1]),
    ("all", [5, 5, 5, -1, 6, 5, 5]),
  ],
)
def test_pieces_that_keep_their_entity(how, expected):
  given = np.array([5, 5, 5, -1, 6, 5, 5])
  assert first_pieces(given, how).tolist() == expected


def test_what_is_written_reads_back(tmp_path):
  pairs = list(maker().pairs(documents(3)))
  assert write_instances(tmp_path / "pairs.bin", pairs, 32) == len(pairs)
  stored = pickle.loads(pickle.dumps(StoredInstances(str(tmp_path / "pairs.bin"))))  # noqa: S301
  assert (len(stored), stored.words) == (len(pairs), 32)
  for number, pair in enumerate(pairs):
    again = stored[number]
    for name in ("input_ids", "token_type_ids", "labels", "entities"):
      np.testing.assert_array_equal(getattr(again, name), getattr(pair, name))
    assert again.random_next == pair.random_next
  with pytest.raises(IndexError):
    stored[len(pairs)]


@pytest.mark.parametrize(
  ("change", "message"),
  [
    (lambda data, index: (data[:-4], index), "not .* bytes; expected those that its index has"),
    (lambda data, index: (data, index[:-8]), r"expected 32-bit numbers, all there"),
    (lambda data, index: (data, b"NOTIDX\0\0" + index[8:]), "expected one that begins with TNTIDX"),
    (
      lambda data, index: (data, index[:16] + struct.pack("<Q", 7) + index[24:]),
      r"of kind \(1, 7, 4\); expected 32-bit numbers",
    ),
  ],
)
def test_damaged_files_are_refused(tmp_path, change, message):
  write_instances(tmp_path / "pairs.bin", maker().pairs(documents(3)), 32)
  places = tmp_path / "pairs.bin", tmp_path / "pairs.idx"
  for place, data in zip(places, change(*(x.read_bytes() for x in places)), strict=True):
    place.write_bytes(data)
  with pytest.raises(InputError, match=message):
    StoredInstances(str(places[0]))[0]


def test_documents_of_the_authors(tmp_path):
  words, names = tmp_path / "words", tmp_path / "names"
  words.write_text("2\t3\t11\t12\t13\t1\t14\n1\t2\t15\t16\n")
  names.write_text("2\t3\tQ1\tQ1\t#UNK#\t1\tQ7\n1\t2\t#UNK#\tQ2\n")
  first, second = read_documents(words, names, {"Q1": 0, "Q2": 1})
  assert [x.ids.tolist() for x in first] == [[11, 12, 13], [14]]
  assert [x.entities.tolist() for x in first] == [[0, -1, -1], [-1]]
  assert second[0].entities.tolist() == [-1, 1]


@pytest.mark.parametrize(
  ("text", "message"),
  [
    ("1\t2\t#UNK#\n", r"names: line 1: field 2: '2'; expected a sentence's length"),
    ("x\t1\t#UNK#\n", "names: line 1: .*; expected the number of sentences"),
    ("1\t1\t#UNK#\n", "names: line 1: other sentences than .*; expected alike"),
    ("1\t2\tQ1\tQ1\n1\t1\tQ1\n", "names: other lines than .*; expected line 2 in both"),
  ],
)
def test_faults_of_the_authors_documents(tmp_path, text, message):
  (tmp_path / "words").write_text("1\t2\t11\t12\n")
  (tmp_path / "names").write_text(text)
  with pytest.raises(InputError, match=message):
    list(read_documents(tmp_path / "words", tmp_path / "names", {}))


def test_shares_of_changed_entities():
  """Over a million aligned words: .05 get another entity, .15 none."""
  rng = np.random.default_rng(0)
  entities = rng.integers(0, 100_000, (4000, 251)).astype(np.int32)
  rngs = [np.random.default_rng(i) for i in range(len(entities))]
  changed = corrupted(entities, rngs, 0.05, 0.15)
  assert (changed == -1).mean() == pytest.approx(0.15, abs=0.002)
  assert ((changed != entities) & (changed != -1)).mean() == pytest.approx(0.05, abs=0.002)
  assert (changed == entities).mean() == pytest.approx(0.80, abs=0.002)


def test_words_without_an_entity_get_none():
  entities = np.full((2, 5), -1, np.int32)
  rngs = [np.random.default_rng(i) for i in range(2)]
  np.testing.assert_array_equal(corrupted(entities, rngs, 0.5, 0.5), entities)


@pytest.mark.real_data
def test_the_published_sample(real_data):
  stored = StoredInstances(str(real_data / "siblings/ernie_thu/sample.bin"))
  assert (len(stored), stored.words) == (334, 256)
  items = [stored[i] for i in range(len(stored))]
  aligned = np.array([(item.entities != -1).sum() for item in items])
  assert (aligned.sum(), aligned.min()) == (3809, 5)
  assert sum(item.random_next for item in items) == 174
  lines = [item.entities for item in items]
  skipped = sum(((x[:-2] != -1) & (x[:-2] == x[2:]) & (x[1:-1] == -1)).sum() for x in lines)
  repeated = sum(((x[:-1] != -1) & (x[:-1] == x[1:])).sum() for x in lines)
  assert (skipped, repeated) == (961, 0)
  masked = [item.labels != -1 for item in items]
  ids = np.concatenate([x.input_ids[m] for x, m in zip(items, masked, strict=True)])
  labels = np.concatenate([x.labels[m] for x, m in zip(items, masked, strict=True)])
  assert len(ids) / sum(len(x.input_ids) for x in items) == pytest.approx(0.1485, abs=5e-5)
  assert (ids == 103).mean() == pytest.approx(0.796, abs=5e-4)
  assert (ids == labels).mean() == pytest.approx(0.103, abs=5e-4)


@pytest.mark.real_data
def test_the_published_documents(real_data):
  folder = real_data / "siblings/ernie_thu"
  files = (folder / "wiki_token.first8", folder / "wiki_entity.first8")
  names = {name for name in files[1].read_text().split() if name.startswith("Q")}
  numbers = {name: i for i, name in enumerate(sorted(names))}
  found = list(read_documents(*files, numbers))
  assert [len(document) for document in found] == [403, 281, 99, 40, 455, 182, 475, 342]
  pairs = list(maker(words=256, least_entities=5).pairs(found))
  lengths = [len(pair.input_ids) for pair in pairs]
  assert max(lengths) == 256
  assert len(pairs) > 250
