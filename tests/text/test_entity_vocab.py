import pytest

from luke_jax.errors import InputError
from luke_jax.text import EntityVocab, load_entity_vocab, save_entity_vocab

SPECIAL = {"[PAD]": 0, "[UNK]": 1, "[MASK]": 2}
TSV = "[PAD]\t0\n[UNK]\t0\n[MASK]\t0\nTokyo\t12\nStar Trek: Picard\t3\n"
JSONL = """\
{"id": 0, "entities": [["[PAD]", null]], "count": 0}
{"id": 1, "entities": [["[UNK]", null]], "count": 0}
{"id": 2, "entities": [["[MASK]", null]], "count": 0}
{"id": 3, "entities": [["Tokyo", "en"], ["東京", "ja"]], "count": 12}
{"id": 4, "entities": [["Star Trek: Picard", "en"]], "count": 3}
"""


def loaded(tmp_path, name, text):
  (tmp_path / name).write_text(text, encoding="utf-8")
  return load_entity_vocab(tmp_path / name)


def test_special_ids_are_read_not_assumed():
  lite = EntityVocab({"[MASK]": 0, "[UNK]": 1, "[PAD]": 2, "[MASK2]": 3})
  assert (lite.mask_id, lite.unknown_id, lite.pad_id, lite.mask2_id) == (0, 1, 2, 3)
  assert EntityVocab(SPECIAL).mask2_id is None


def test_lookup(vocab):
  assert len(vocab) == 6
  assert vocab.id("Tokyo") == 5
  assert vocab.title(5) == "Tokyo"
  assert vocab.contains("Tokyo")
  assert not vocab.contains("Kyoto")
  assert vocab.id("Kyoto") == vocab.unknown_id


def test_half_a_million_titles_are_not_printed(multilingual_vocab):
  assert repr(multilingual_vocab) == "EntityVocab(7 ids, 8 titles)"


def test_lookup_with_languages(multilingual_vocab):
  assert multilingual_vocab.id("Tokyo", "en") == multilingual_vocab.id("東京", "ja") == 5
  assert multilingual_vocab.id("Star Trek: Picard", "en") == 6
  assert multilingual_vocab.id("Tokyo", "ja") == multilingual_vocab.unknown_id
  assert multilingual_vocab.id("[MASK]") == multilingual_vocab.id("[MASK]", "en") == 0
  assert multilingual_vocab.titles(5) == [("Tokyo", "en"), ("東京", "ja")]
  assert multilingual_vocab.titles(0) == [("[MASK]", None)]
  assert multilingual_vocab.languages == {"en", "ja"}


def test_a_language_that_does_not_match_is_refused(vocab, multilingual_vocab):
  with pytest.raises(InputError, match="language 'en'; expected none, for the titles"):
    vocab.id("Tokyo", "en")
  with pytest.raises(InputError, match="no language for entity titles; expected one of en, ja"):
    multilingual_vocab.id("Tokyo")
  with pytest.raises(InputError, match="language 'de'; expected en, ja"):
    multilingual_vocab.contains("Tokio", "de")


def test_a_second_mask_must_be_there_to_be_used():
  with pytest.raises(InputError, match=r"no \[MASK2\]"):
    EntityVocab(SPECIAL).id("[MASK2]")


def test_ids_outside_are_refused(vocab):
  for id in (-1, 6):
    with pytest.raises(InputError, match=f"entity id {id}: expected an id from 0 to 5"):
      vocab.titles(id)


def test_adding_titles_keeps_the_ids(vocab, multilingual_vocab):
  more = vocab.add(["Kyoto", "Nara"])
  assert more.ids == vocab.ids | {"Kyoto": 6, "Nara": 7}
  assert not vocab.contains("Kyoto")
  assert multilingual_vocab.add(["Kyoto"], "en").id("Kyoto", "en") == 7
  assert EntityVocab(SPECIAL, counts=[1, 2, 3]).add(["[MASK2]"]).counts == [1, 2, 3, 0]
  assert vocab.add([]).ids == vocab.ids


def test_adding_a_title_twice_is_refused(vocab):
  for titles in (["Tokyo"], ["Kyoto", "Kyoto"], ["[MASK]"]):
    with pytest.raises(InputError, match="already in the vocabulary; expected a new title"):
      vocab.add(titles)


@pytest.mark.parametrize(
  ("ids", "message"),
  [
    ({"[PAD]": 0, "[UNK]": 1}, "no [MASK]; expected [PAD], [UNK] and [MASK]"),
    (SPECIAL | {"a": 4}, "entity id 3: no title; expected every id from 0 to 4"),
    (SPECIAL | {"a": "3"}, "entity 'a': id '3'; expected a title and a whole number from 0"),
    (SPECIAL | {"a": True}, "entity 'a': id True"),
    (SPECIAL | {"a": -1}, "entity 'a': id -1"),
  ],
)
def test_faulty_ids(ids, message):
  with pytest.raises(InputError) as error:
    EntityVocab(ids)
  assert message in str(error.value)


def test_counts_are_one_for_each_id():
  with pytest.raises(InputError, match="entity counts: 2; expected 3"):
    EntityVocab(SPECIAL, counts=[1, 2])


def test_reading_tsv(tmp_path):
  vocab = loaded(tmp_path, "v.tsv", TSV)
  assert vocab.ids == SPECIAL | {"Tokyo": 3, "Star Trek: Picard": 4}
  assert vocab.counts == [0, 0, 0, 12, 3]
  assert not vocab.multilingual


def test_reading_jsonl(tmp_path):
  vocab = loaded(tmp_path, "v.jsonl", JSONL)
  assert vocab.multilingual
  assert vocab.id("東京", "ja") == 3
  assert vocab.counts == [0, 0, 0, 12, 3]
  mono = loaded(tmp_path, "w.jsonl", JSONL.replace('"en"', "null").replace('"ja"', "null"))
  assert mono.languages == frozenset()
  assert mono.id("東京") == mono.id("Tokyo") == 3


def test_reading_json(tmp_path):
  lite = loaded(tmp_path, "v.json", '{"[MASK]":0,"[UNK]":1,"[PAD]":2,"[MASK2]":3}')
  assert lite.pad_id == 2
  start = '{"[PAD]":0,"[UNK]":1,"[MASK]":2,'
  multilingual = loaded(tmp_path, "m.json", start + '"en:Tokyo":3,"ja:東京":3,"zh-yue:東京":3}')
  assert multilingual.languages == {"en", "ja", "zh-yue"}
  bare = loaded(tmp_path, "b.json", start + '"Star Trek: Picard":3,"en:Tokyo":4}')
  assert bare.id("Star Trek: Picard") == 3


def test_titles_of_an_old_converter_are_repaired(tmp_path):
  text = '{"[PAD]":0,"[UNK]":1,"[MASK]":2,"None:Tokyo":3,"None:Star Trek: Picard":4}'
  assert loaded(tmp_path, "v.json", text).ids == SPECIAL | {"Tokyo": 3, "Star Trek: Picard": 4}


@pytest.mark.parametrize("suffix", [".json", ".jsonl", ".tsv"])
def test_writing_and_reading_again(vocab, multilingual_vocab, tmp_path, suffix):
  for number, written in enumerate([vocab, multilingual_vocab]):
    if suffix == ".tsv" and written.multilingual:
      continue
    path = tmp_path / f"{number}{suffix}"
    save_entity_vocab(written, path)
    read = load_entity_vocab(path)
    assert (read.ids, read.multilingual) == (written.ids, written.multilingual)


def test_counts_are_written(tmp_path):
  vocab = loaded(tmp_path, "v.tsv", TSV)
  for name in ("a.tsv", "a.jsonl"):
    save_entity_vocab(vocab, tmp_path / name)
    assert load_entity_vocab(tmp_path / name).counts == vocab.counts
  assert (tmp_path / "a.tsv").read_text() == TSV


def test_tsv_holds_no_languages(multilingual_vocab, tmp_path):
  with pytest.raises(InputError, match=r"expected one without a language, for .tsv"):
    save_entity_vocab(multilingual_vocab, tmp_path / "v.tsv")
  assert not (tmp_path / "v.tsv").exists()


def test_a_directory(tmp_path):
  with pytest.raises(InputError) as error:
    load_entity_vocab(tmp_path)
  assert str(error.value) == (
    f"{tmp_path}: no entity vocabulary; expected one of entity_vocab.json, entity_vocab.tsv,"
    " entity_vocab.jsonl, tokenizer_config.json"
  )
  (tmp_path / "entity_vocab.jsonl").write_text(JSONL, encoding="utf-8")
  assert load_entity_vocab(tmp_path).multilingual
  (tmp_path / "entity_vocab.tsv").write_text(TSV, encoding="utf-8")
  assert not load_entity_vocab(tmp_path).multilingual  # as in the authors' archives, tsv wins


JSON_LINE = '{"id": 3, "entities": [["a", null]], "count": 0}\n'
MONO = JSONL[: JSONL.index('{"id": 3')]


@pytest.mark.parametrize(
  ("name", "text", "message"),
  [
    ("v.tsv", TSV + "Tokyo\t4\n", "line 6: title 'Tokyo' stands twice"),
    ("v.tsv", TSV + "Kyoto\n", "line 6 is 'Kyoto'; expected title, tab, count"),
    ("v.tsv", TSV + "Kyoto\tmany\n", "line 6 is 'Kyoto\\tmany'"),
    ("v.tsv", TSV + "\nKyoto\t4\n", "line 6 is ''"),
    ("v.tsv", "Tokyo\t3\n", "no [PAD]"),
    ("v.jsonl", "{}\n", "line 1 is '{}'; expected an object"),
    ("v.jsonl", "nope\n", "line 1 is 'nope'; expected an object"),
    ("v.jsonl", JSONL + JSON_LINE, "line 6: id 3 stands twice"),
    ("v.jsonl", MONO + JSON_LINE.replace("null", "7"), "line 4 is"),
    ("v.jsonl", MONO + JSON_LINE.replace('"id": 3', '"id": "3"'), "line 4 is"),
    ("v.jsonl", MONO + JSON_LINE.replace("3", "4"), "entity id 3: no title"),
    ("v.jsonl", JSONL + JSON_LINE.replace("3", "5"), "with and without a language"),
    (
      "v.jsonl",
      MONO + JSON_LINE + JSON_LINE.replace("3", "4"),
      "line 5: title 'a' has id 3 already",
    ),
    ("v.json", "[1]", "holds a list; expected an object of title -> id"),
    ("v.json", '{"a": 0, "a": 1}', "key 'a' stands twice"),
    ("v.json", '{"a": 0,\nb}', "line 2 is not JSON"),
    ("v.json", '{"[PAD]": 0}', "no [UNK]"),
    ("v.json", '{"[PAD]": {}}', "no [UNK]"),
    ("v.txt", "", "expected a .json, .jsonl or .tsv file"),
    ("tokenizer_config.json", "{}", "no object 'entity_vocab' in it"),
  ],
)
def test_faulty_files(tmp_path, name, text, message):
  with pytest.raises(InputError) as error:
    loaded(tmp_path, name, text)
  assert message in str(error.value)
  assert str(tmp_path / name) in str(error.value)
  assert "\n" not in str(error.value)


def test_files_that_are_no_text(tmp_path):
  for name in ("v.json", "none"):
    with pytest.raises(InputError) as error:
      load_entity_vocab(str(tmp_path / name))
    assert str(error.value) == (
      f"{tmp_path / name}: no such file or directory; expected a .json, .jsonl or .tsv file, or a"
      " model's directory"
    )
  (tmp_path / "v.json").write_bytes(b"\xff\xfe")
  with pytest.raises(InputError, match="byte 0 is not UTF-8 text"):
    load_entity_vocab(tmp_path / "v.json")
