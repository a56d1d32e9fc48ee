"""Units of words: their files, their masks, and how texts and dialogues become instances."""

import itertools
import json
from pathlib import Path

import numpy as np
import pytest

from data.ernie_baidu import units as program
from data.ernie_baidu.units import write_units
from luke_jax.cli import script
from luke_jax.errors import InputError
from luke_jax.files import Path as LukePath
from luke_jax.pipeline.rows import MaskIds
from luke_jax.pipeline.stored import NONE
from luke_jax.systems.ernie_baidu.pretraining import Texts, mask_units, masked_texts, single
from luke_jax.systems.ernie_baidu.units import UnitInstance, UnitInstances, read_units
from luke_jax.text import load_tokenizer

VOCABULARY = MaskIds(3, 1, 18_000)


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
  monkeypatch.setenv("LUKE_JAX_CACHE", str(tmp_path / "cache"))


def test_draws_decide_as_in_the_released_program():
  """北京 是 中国 首都 between special tokens."""
  units = np.array([-1, 0, 1, 0, 0, 1, 0, 1, -1])
  draws = np.array([0.9, 0.10, 0.5, 0.2, 0.012, 0.15, 0.04, 0.05, 0.9])
  ids, others = np.arange(100, 109), np.arange(200, 209)
  whole = mask_units(ids, units, draws, others, 3)
  assert whole.ids.tolist() == [100, 3, 3, 103, 104, 205, 3, 107, 108]
  assert whole.places.tolist() == [1, 2, 4, 5, 6, 7]
  alone = mask_units(ids, single(units), draws, others, 3)
  assert alone.ids.tolist() == [100, 3, 102, 103, 104, 3, 3, 3, 108]
  assert alone.places.tolist() == [1, 4, 5, 6, 7]


def long_text(rng, lengths, count=1_000_000):
  """A text of units of random lengths, and special tokens now and then."""
  starts = np.cumsum(rng.choice(lengths, count))
  units = np.ones(count, int)
  units[np.append(0, starts[starts < count])] = 0
  units[::500] = -1
  units[1::500] = 0
  return rng.integers(4, 18_000, count), units


def masked_alone(ids, units, rng, slots):
  """The words of a text, masked, and the ids to predict, NONE for none."""
  texts = Texts(ids, np.zeros_like(ids), units, np.array([len(ids)]))
  masked, places = masked_texts(texts, VOCABULARY, [rng], slots)
  labels = np.full(len(ids), NONE)
  labels[places] = ids[places]
  return masked, labels


@pytest.mark.parametrize("lengths", [[1], [1, 1, 2, 2, 3], [1] * 20 + [4, 9]])
def test_a_share_is_selected_whatever_the_units_are(lengths):
  rng = np.random.default_rng(0)
  ids, units = long_text(rng, lengths)
  masked, labels = masked_alone(ids, units, rng, len(ids))
  selected = labels != NONE
  text = units != -1
  assert abs(selected[text].mean() - 0.15) < 0.002
  assert not selected[~text].any()
  np.testing.assert_array_equal(labels[selected], ids[selected])
  np.testing.assert_array_equal(masked[~selected], ids[~selected])
  shares = [(masked == 3)[selected].mean(), (masked == ids)[selected].mean()]
  np.testing.assert_allclose(shares, [0.8, 0.1], atol=0.005)
  number = np.cumsum(units != 1)
  sizes = np.bincount(number)
  assert set((np.bincount(number, selected) / np.maximum(sizes, 1)).tolist()) == {0.0, 1.0}


def test_a_full_row_leaves_its_last_units_as_they_are():
  ids, units = np.arange(100, 140), np.tile([0, 1, 1, 1], 10)
  for seed in range(40):
    masked, labels = masked_alone(ids, units, np.random.default_rng(seed), 6)
    whole, every = masked_alone(ids, units, np.random.default_rng(seed), 40)
    count = (every != NONE).sum()
    assert (labels != NONE).sum() == min(count, 4)
    kept = labels != NONE
    np.testing.assert_array_equal(masked[kept], whole[kept])
    np.testing.assert_array_equal(masked[~kept], ids[~kept])


def test_texts_are_masked_together_as_alone():
  rng = np.random.default_rng(0)
  lengths = rng.integers(2, 60, 30)
  ids, units = long_text(rng, [1, 2, 3], lengths.sum())
  stops = np.cumsum(lengths)
  units[stops - lengths] = -1
  units[(stops - lengths + 1)[units[stops - lengths + 1] == 1]] = 0
  texts = Texts(ids, ids, units, lengths)
  rngs = [np.random.default_rng(seed) for seed in range(30)]
  masked, places = masked_texts(texts, VOCABULARY, rngs, 3)
  labels = np.full(len(ids), NONE)
  labels[places] = ids[places]
  for seed, (start, stop) in enumerate(zip(stops - lengths, stops, strict=True)):
    part = slice(start, stop)
    alone = masked_alone(ids[part], units[part], np.random.default_rng(seed), 3)
    np.testing.assert_array_equal((masked[part], labels[part]), alone)


def instance(count=5, true=True):
  units = np.array([[-1, *([0, 1] * count)[: count - 2], -1], [-1, *[0] * (count - 2), -1]])
  types = (np.arange(count) > 2).astype(int)
  return UnitInstance(np.arange(10, 10 + count), types, units, true)


def test_instances_come_back(tmp_path):
  made = [instance(5 + i, i % 2 == 0) for i in range(6)]
  for name in ("x.gz", "x.txt"):
    assert write_units(LukePath(tmp_path / name), made) == 6
    path = str(tmp_path / name)
    for split, kept in (("train", made[:4]), ("dev", made[4:])):
      read = UnitInstances((path, path), 2, 0.3, split, 100)
      assert len(read) == 2 * len(kept)
      for index, expected in enumerate([*kept, *kept]):
        for found, array in zip(read[index][:3], expected[:3], strict=True):
          np.testing.assert_array_equal(found, array)
        assert (read[index].true, read[index].file) == (expected.true, index // len(kept))
    assert len(UnitInstances((path, path), 2, 0.3, "dev", 3)) == 3
  assert (
    (tmp_path / "x.txt").read_text().startswith("10 11 12 13 14;0 0 0 1 1;0 1 2 3 4;-1 0 1 0 -1")
  )


GOOD = "1 7 8 2;0 0 0 0;0 1 2 3;-1 0 1 -1;1"
BAD = [
  ("1 7 8 2;0 0 0 0;0 1 2 3;1", "4 fields; expected 5, of them 1 of unit labels"),
  (GOOD.replace("-1 0 1 -1", "-1 0 1"), "3 labels; expected 4, one for each id"),
  (
    GOOD.replace("-1 0 1 -1", "-1 1 1 -1"),
    "unit label 1 at word 2; expected 0 where a unit begins",
  ),
  (GOOD.replace("-1 0 1 -1", "-1 0 2 -1"), "unit label 2 at word 3; expected 0"),
  (GOOD.replace("0 0 0 0", "0 0 2 2"), "ids or types out of range; expected ids from 0, types 0"),
  (GOOD.replace("7", "seven"), "'1 seven 8 2'; expected whole numbers"),
  (GOOD[:-1] + "2", "'2' at the end; expected 0 or 1"),
  ("", "1 fields; expected 5"),
]


@pytest.mark.parametrize(("line", "message"), BAD)
def test_a_bad_line_is_named(line, message, tmp_path):
  path = tmp_path / "units.txt"
  path.write_text(f"{GOOD}\n{line}\n")
  with pytest.raises(InputError) as fault:
    read_units(str(path), 1)
  assert str(fault.value).startswith(f"{path}: line 2: {message}")


def test_files_that_are_none_are_one_line(tmp_path):
  for name, content in (("cut.gz", b"\x1f\x8b\x08"), ("empty.txt", b""), ("text.gz", b"1;2")):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=name):
      read_units(str(tmp_path / name), 1)
  with pytest.raises(InputError, match=r"none\.gz: .*; expected ids;types"):
    read_units(str(tmp_path / "none.gz"), 1)


WORDS = "[PAD] [CLS] [SEP] [MASK] [UNK] 北 京 是 中 国 首 都 。 好 吗 very long ##er"


@pytest.fixture
def tokenizer(tmp_path, monkeypatch):
  monkeypatch.chdir(tmp_path)
  Path("words").mkdir()
  Path("words/vocab.txt").write_text(WORDS.replace(" ", "\n"), encoding="utf-8")
  return load_tokenizer("words", markers=False)


def made(tokenizer, source, *options):
  command = [source, "--tokenizer", "words", "--output", "made.gz", *options]
  assert script(program.main, "units", command) == 0
  names = WORDS.split()
  file = read_units("made.gz", 2)
  read = [file.instance(i, 0) for i in range(len(file))]
  return [(" ".join(names[id] for id in x.input_ids), x) for x in read]


def test_phrases_of_a_text_are_units(tokenizer):
  sentences = ["北京 是 中国 longer 。", "首都 好 。", "好 吗 。"]
  text = "\n".join([*sentences, "", "very longer 好 吗", "好 北京", ""])
  Path("text.txt").write_text(text, encoding="utf-8")
  pairs = made(tokenizer, "text.txt", "--words", "40")
  assert {x.true for _, x in pairs} == {True, False}
  for words, x in pairs:
    assert words.startswith("[CLS] ") and words.endswith(" [SEP]") and words.count("[SEP]") == 2
    assert x.token_type_ids.tolist() == [0] * (words.split().index("[SEP]") + 1) + [1] * (
      len(x.token_type_ids) - words.split().index("[SEP]") - 1
    )
    special = [word in ("[CLS]", "[SEP]") for word in words.split()]
    assert (x.units == -1).tolist() == [special, special]
    goes_on = [word for word, label in zip(words.split(), x.units[0], strict=True) if label == 1]
    assert set(goes_on) <= {"京", "国", "都", "##er"}
    assert goes_on
    assert (x.units[1] < 1).all()  # no entities are known


def test_dialogues_have_roles_and_half_are_fakes(tokenizer):
  turns = [["北京 好", "好", "是"], ["吗", "中国", "very longer"], ["首都", "国", "都 吗 。"]]
  talks = [talk * 9 for talk in turns]
  Path("talks.jsonl").write_text("".join(f"{json.dumps(talk)}\n" for talk in talks))
  read = made(tokenizer, "talks.jsonl")
  assert len(read) == 3 * (27 - 2)
  assert 0.3 < np.mean([x.true for _, x in read]) < 0.7
  said = {frozenset(_spelt(text) for text in talk): number for number, talk in enumerate(turns)}
  for words, x in read:
    utterances = [part.strip() for part in words.removeprefix("[CLS]").split("[SEP]")[:-1]]
    assert len(utterances) == 3
    own = [number for talk, number in said.items() if set(utterances) <= talk]
    assert bool(own) == x.true
    runs = [role for role, _ in itertools.groupby(x.token_type_ids.tolist())]
    assert runs == [0, 1, 0]


def _spelt(text):
  return "very long ##er" if text == "very longer" else " ".join(text.replace(" ", ""))


def test_speakers_give_the_other_patterns(tokenizer, capsys):
  def talk(speakers):
    return [{"speaker": name, "text": "好 吗"} for name in speakers]

  Path("talks.jsonl").write_text(f"{json.dumps(talk('ABB'))}\n{json.dumps(talk('AAB'))}\n")
  with Path("talks.jsonl").open("a") as file:
    file.write("\n")
  roles = [x.token_type_ids.tolist() for _, x in made(tokenizer, "talks.jsonl")]
  assert roles == [[0] * 4 + [1] * 6, [0] * 7 + [1] * 3]
  command = ["talks.jsonl", "--tokenizer", "words", "--output", "none.gz"]
  for line, message in [
    (json.dumps(talk("ABBBA")), "utterances 2 to 4 are all of 'B'; expected roles QRQ, QRR or QQR"),
    ('{"text": "x"}', "no list of utterances; expected"),
    ('[{"speaker": "A"}]', "utterance 1: no speaker or no text"),
    ("[3]", "utterance 1 is 3; expected"),
    ("好", "no JSON; expected"),
  ]:
    Path("talks.jsonl").write_text(f"{json.dumps(talk('ABA'))}\n{line}\n", encoding="utf-8")
    assert script(program.main, "units", command) == 2
    assert f"talks.jsonl: line 2: {message}" in capsys.readouterr().err
    assert not Path("none.gz").exists()
  for name in ("gone.jsonl", "gone.txt"):
    assert script(program.main, "units", [name, *command[1:]]) == 2
    assert f"luke-jax: {name}: no such file; expected" in capsys.readouterr().err


@pytest.mark.real_data
def test_the_official_demo_is_read_whole(real_data):
  path = str(real_data / "siblings/ernie_baidu/demo_train_set.gz")
  file = read_units(path, 1)
  lengths = np.diff(file.ends)
  assert (len(file), len(file.words)) == (10_000, 953_318)
  assert (lengths.min(), lengths.max(), round(lengths.mean(), 2)) == (10, 131, 95.33)
  assert np.bincount(file.true).tolist() == [6_221, 3_779]
  labels, counts = np.unique(file.words["units"], return_counts=True)
  assert dict(zip(labels.tolist(), counts.tolist(), strict=True)) == {
    -1: 30_000,
    0: 650_406,
    1: 272_912,
  }
  units = file.words["units"][:, 0]
  sizes = np.bincount(np.bincount(np.cumsum(units == 0)[units != -1])[1:]).tolist()
  assert sizes == [0, 384_738, 259_279, 5_664, 622, 83, 15, 4, 0, 1]
  assert ((file.words["id"] == 17_963).sum(), file.sizes) == (364, (131, 17_963))
