"""Pretraining of an ERNIE of Baidu: masks by level and by file, roles, and the first loss."""

import dataclasses
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from networks import backbone
from small_systems import small

from data.ernie_baidu.units import write_units
from luke_jax.errors import InputError
from luke_jax.files import Path as LukePath
from luke_jax.nn.losses import IGNORED
from luke_jax.systems.ernie_baidu import ErnieBaiduConfig
from luke_jax.systems.ernie_baidu.pretraining import UnitPretraining
from luke_jax.systems.ernie_baidu.units import UnitInstance

CHOSEN = backbone(small(ErnieBaiduConfig, vocab_size=18_000))
WORDS = 24


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
  monkeypatch.setenv("LUKE_JAX_CACHE", str(tmp_path / "cache"))


def instance(rng, unit):
  """A pair whose phrases have `unit` words each, and whose entities are twice as long."""
  count = WORDS - 3
  ids = rng.integers(10, 18_000, WORDS)
  ids[[0, 12, -1]] = 1, 2, 2
  levels = []
  for size in (unit, 2 * unit):
    labels = (np.arange(count) % size > 0).astype(int)
    levels.append(np.array([-1, *labels[:11], -1, *np.maximum(labels[11:], 0), -1]))
    levels[-1][13] = 0
  return UnitInstance(
    ids, (np.arange(WORDS) > 12).astype(int), np.stack(levels), bool(rng.integers(2))
  )


@pytest.fixture(scope="module")
def place(tmp_path_factory):
  folder = tmp_path_factory.mktemp("units")
  (folder / "vocab.txt").write_text("[PAD]\n[CLS]\n[SEP]\n[MASK]\n[UNK]\n", encoding="utf-8")
  for name, unit in (("single", 1), ("phrases", 2)):
    rng = np.random.default_rng(unit)
    made = [instance(rng, unit) for _ in range(60)]
    write_units(LukePath(folder / f"{name}.gz"), made)
  return folder


def task(place, name="phrases", **fields):
  files = (str(place / f"{name}.gz"),)
  fields = {"levels": ("phrase", "entity"), "words": WORDS, "masked": 21} | fields
  return UnitPretraining(**{"files": files, "text": str(place), "held_out": 0.1} | fields)


def rows(chosen, epoch=0, seed=0):
  """All training rows of an epoch, in the order of the files."""
  records = chosen.records(CHOSEN, "train")
  count = len(records)
  rngs = [np.random.default_rng((seed, epoch * count + i)) for i in range(count)]
  return chosen.rows(CHOSEN, [records[i] for i in range(count)], rngs)


def same(one, other):
  return all(np.array_equal(one[name], other[name]) for name in one)


def test_units_of_one_word_are_masked_as_single_words(place):
  basic, phrase = (rows(task(place, "single", mixture=x)) for x in ((1, 0, 0), (0, 1, 0)))
  assert same(basic, phrase)
  stages = [rows(task(place, mixture=x)) for x in ((1, 0, 0), (0, 1, 0), (0, 0, 1))]
  for stage in stages[1:]:
    assert not np.array_equal(stage["input_ids"], stages[0]["input_ids"])
    for name in ("attention_mask", "token_type_ids", "next_sentence_labels"):
      np.testing.assert_array_equal(stage[name], stages[0][name])
  assert same(stages[1], rows(task(place)))  # phrases are the default


def shares_of_whole_phrases(arrays):
  """For each row, whether all or none of the words of each pair of words are to be predicted."""
  whole = []
  for labels, places in zip(arrays["labels"], arrays["masked_positions"], strict=True):
    selected = np.zeros(WORDS, bool)
    selected[places[labels != IGNORED]] = True
    pairs = np.stack([selected[1:11:2], selected[2:12:2]])
    whole.append(bool((pairs[0] == pairs[1]).all()))
  return np.array(whole)


def test_a_mixture_is_drawn_for_each_text(place):
  by_phrase = shares_of_whole_phrases(rows(task(place, mixture=(0, 1, 0))))
  mixed = shares_of_whole_phrases(rows(task(place, mixture=(0.5, 0.5, 0))))
  basic = shares_of_whole_phrases(rows(task(place, mixture=(1, 0, 0))))
  assert by_phrase.all()
  assert basic.mean() < mixed.mean() < 1


def test_a_file_is_masked_by_one_level_for_an_epoch(place):
  files = tuple(str(place / f"{name}.gz") for name in ("phrases", "phrases"))
  chosen = task(place, files=files, mask_mode="file", unit_shares=(0.5, 1.1))
  kinds = []
  for epoch in range(12):
    whole = shares_of_whole_phrases(rows(chosen, epoch))
    half = len(whole) // 2
    assert whole[half:].all()
    kinds.append(whole[:half].all())
  assert set(kinds) == {True, False}
  again = dataclasses.replace(chosen, unit_shares=(0.0, 0.0))
  assert not shares_of_whole_phrases(rows(again)).all()


@pytest.mark.slow
def test_the_first_loss_is_that_of_guessing(place):
  chosen = task(place)
  batch = {name: jnp.asarray(x) for name, x in rows(chosen).items()}
  shapes = {name: (x.shape[1:], x.dtype) for name, x in batch.items()}
  assert shapes == {name: (x.shape, x.dtype) for name, x in chosen.row_shapes(CHOSEN).items()}
  params = chosen.initial_params(CHOSEN, jax.random.key(0))

  @jax.jit
  def loss(batch):
    value, metrics = chosen.loss(CHOSEN, params, batch, chosen.weights(batch), None)
    return value, metrics, chosen.predict(CHOSEN, params, batch)

  value, metrics, predictions = loss(batch)
  assert abs(value - (math.log(18_000) + math.log(2))) < 0.05
  np.testing.assert_allclose(metrics["word_loss"] + metrics["next_loss"], value, rtol=1e-6)
  scores = chosen.score(chosen.records(CHOSEN, "train"), jax.device_get(predictions))
  for name in ("word_loss", "next_loss", "word_accuracy", "next_accuracy"):
    np.testing.assert_allclose(scores[name], metrics[name], rtol=1e-5)
  # The types are the roles of a dialogue too, and change what is predicted.
  other, _, _ = loss(batch | {"token_type_ids": 1 - batch["token_type_ids"]})
  assert abs(other - value) > 1e-6


def test_a_true_pair_has_the_label_1(place):
  chosen = task(place)
  records = chosen.records(CHOSEN, "train")
  labels = rows(chosen)["next_sentence_labels"]
  assert labels.tolist() == [int(records[i].true) for i in range(len(records))]
  assert 0 < labels.mean() < 1


FAULTS = [
  ({"mixture": (0.5, 0.5)}, "mixture: .*; expected 3 shares that make 1: basic, phrase, entity"),
  ({"mixture": (0.5, 0.2, 0.2)}, "mixture: .*; expected 3 shares that make 1"),
  ({"mask_mode": "file"}, "unit_shares: 0 of them; expected one for each of 1 files"),
  ({"levels": ()}, "levels: none; expected a name"),
  ({"words": 12}, "task.words: 12; expected 24, the longest text of .*phrases.gz"),
  ({"levels": ("phrase",)}, "phrases.gz: line 1: 6 fields; expected 5, of them 1 of unit labels"),
  ({"files": ()}, "task.files: empty; expected files of instances"),
]


@pytest.mark.parametrize(("fields", "message"), FAULTS)
def test_wrong_settings_are_one_line(place, fields, message):
  with pytest.raises(InputError, match=message):
    task(place, **fields).records(CHOSEN, "train")


def test_ids_without_a_row_are_refused(place):
  with pytest.raises(InputError, match=r"phrases\.gz: id \d+; expected ids below 101"):
    task(place).records(backbone(small(ErnieBaiduConfig)), "train")
