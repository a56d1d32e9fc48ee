import json
import shutil
from pathlib import Path

import pytest

from luke_jax.errors import InputError
from luke_jax.text import (
  EntityVocab,
  Processor,
  load_processor,
  load_tokenizer,
  save_entity_vocab,
  save_processor,
  save_tokenizer,
)
from luke_jax.text.entity_vocab import SPECIAL_ENTITIES

TEXT = "Beyoncé lives in <mask> Los Angeles."


def write(directory, **files):
  for name, value in files.items():
    path = directory / name.replace("__", ".")
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")


@pytest.fixture
def bpe_files(tiny_directories, tmp_path):
  for name in ("vocab.json", "merges.txt"):
    shutil.copyfile(tiny_directories["byte_level"] / name, tmp_path / name)
  return tmp_path


def test_saving_and_loading_again(tokenizer, tmp_path):
  save_tokenizer(tokenizer, tmp_path / "new")
  again = load_tokenizer(tmp_path / "new")
  assert again.encode([TEXT]) == tokenizer.encode([TEXT])
  assert again.special == tokenizer.special
  assert again.vocab_size == tokenizer.vocab_size


def test_the_files_transformers_needs(byte_level, sentence_piece, tmp_path):
  common = {"added_tokens.json", "special_tokens_map.json", "tokenizer_config.json"}
  save_tokenizer(byte_level, tmp_path / "luke")
  save_tokenizer(sentence_piece, tmp_path / "mluke")
  luke, mluke = ({file.name for file in (tmp_path / n).iterdir()} for n in ("luke", "mluke"))
  assert luke == common | {"vocab.json", "merges.txt"}
  assert mluke == common | {"sentencepiece.bpe.model"}
  config = json.loads((tmp_path / "luke/tokenizer_config.json").read_text())
  assert config["tokenizer_class"] == "LukeTokenizer"
  assert json.loads((tmp_path / "luke/added_tokens.json").read_text()) == {
    "<ent>": 600,
    "<ent2>": 601,
  }


def test_the_vocabulary_is_written_as_it_was_read(byte_level, tiny_directories, tmp_path):
  save_tokenizer(byte_level, tmp_path)
  for name in ("vocab.json", "merges.txt"):
    before = (tiny_directories["byte_level"] / name).read_text(encoding="utf-8")
    assert (tmp_path / name).read_text(encoding="utf-8") == before


def test_added_tokens_keep_their_ids(bpe_files):
  write(bpe_files, added_tokens__json={"<ent>": 610, "<ent2>": 605, "[ENTITY]": 620})
  tokenizer = load_tokenizer(bpe_files)
  assert tokenizer.special.marker_ids == (610, 605)
  assert tokenizer.vocab_size == 621
  assert tokenizer.encode(["[ENTITY]x"])[0].ids[0] == 620
  save_tokenizer(tokenizer, bpe_files / "new")
  assert load_tokenizer(bpe_files / "new").special.ids == tokenizer.special.ids


def test_markers_under_their_names_in_both_majors(bpe_files):
  for keys in (("entity_token_1", "entity_token_2"), ("entity_1_token", "entity_2_token")):
    config = {keys[0]: "<e1>", keys[1]: {"content": "<e2>", "lstrip": False}}
    write(bpe_files, tokenizer_config__json=config)
    special = load_tokenizer(bpe_files).special
    assert special.markers == ("<e1>", "<e2>")
    assert special.marker_ids == (600, 601)


def test_added_tokens_in_the_config(bpe_files):
  decoder = {"603": {"content": "<ent>"}, "604": {"content": "<ent2>"}, "0": {"content": "<s>"}}
  write(bpe_files, tokenizer_config__json={"added_tokens_decoder": decoder})
  assert load_tokenizer(bpe_files).special.marker_ids == (603, 604)


def test_a_directory_with_tokenizer_json_only(byte_level, bpe_files, tmp_path):
  vocab = json.loads((bpe_files / "vocab.json").read_text(encoding="utf-8"))
  merges = (bpe_files / "merges.txt").read_text(encoding="utf-8").splitlines()[1:]
  for folder, written in (("old", merges), ("new", [merge.split(" ") for merge in merges])):
    whole = {
      "added_tokens": [
        {"id": 0, "content": "<s>"},
        {"id": 600, "content": "<ent>"},
        {"id": 601, "content": "<ent2>"},
        {"id": 604, "content": "[MASK]"},  # as transformers 5 adds the special entities
      ],
      "pre_tokenizer": {"type": "ByteLevel"},
      "model": {"type": "BPE", "vocab": vocab, "merges": written},
    }
    (tmp_path / folder).mkdir()
    write(tmp_path / folder, tokenizer__json=whole)
    tokenizer = load_tokenizer(tmp_path / folder)
    assert tokenizer.special == byte_level.special
    assert tokenizer.vocab_size == byte_level.vocab_size
    assert tokenizer.encode([TEXT, "[MASK]"]) == byte_level.encode([TEXT, "[MASK]"])


def test_processor_settings_come_back(tokenizer, vocab, tmp_path):
  processor = Processor(
    tokenizer,
    vocab,
    "entity_span_classification",
    max_length=256,
    max_entity_length=64,
    max_mention_length=16,
  )
  save_processor(processor, tmp_path)
  again = load_processor(tmp_path)
  settings = ("task", "max_length", "max_entity_length", "max_mention_length")
  assert [getattr(again, s) for s in settings] == [getattr(processor, s) for s in settings]
  assert again.entity_vocab.ids == vocab.ids
  assert load_processor(tmp_path, task=None).task is None
  given = {"text": TEXT, "entity_spans": [(0, 7), (24, 35)]}
  for name, array in processor(**given).items():
    assert (array == again(**given)[name]).all()


def test_a_model_of_words_only_has_a_processor_that_marks_spans(bpe_files):
  for types in (2, 1):
    write(bpe_files, config__json={"model_type": "some", "type_vocab_size": types})
    processor = load_processor(bpe_files, task="entity_span_classification")
    assert processor.entity_vocab is SPECIAL_ENTITIES and not processor.tokenizer.special.markers
    assert ("token_type_ids" in processor(TEXT, entity_spans=[(0, 7)])) == (types == 2)
  write(bpe_files, config__json={"model_type": "luke", "entity_vocab_size": 9})
  with pytest.raises(InputError, match="no entity vocabulary"):
    load_processor(bpe_files)


def test_prefix_space_comes_back(bpe_files, vocab):
  write(bpe_files, tokenizer_config__json={"add_prefix_space": True, "model_max_length": 1e30})
  tokenizer = load_tokenizer(bpe_files)
  assert tokenizer.encode(["x"]) == tokenizer.encode([" x"])
  save_processor(Processor(tokenizer, vocab), bpe_files / "new")
  again = load_tokenizer(bpe_files / "new")
  assert again.encode(["x"]) == tokenizer.encode([" x"])


def test_white_space_before_a_mask_is_as_tokenizer_json_says(bpe_files, vocab):
  assert load_tokenizer(bpe_files).special.mask_as_word
  token = {"id": 599, "content": "<mask>", "lstrip": False}
  write(bpe_files, tokenizer__json={"added_tokens": [token]})
  tokenizer = load_tokenizer(bpe_files)
  assert not tokenizer.special.mask_as_word
  save_processor(Processor(tokenizer, vocab), bpe_files / "new")
  assert not load_tokenizer(bpe_files / "new").special.mask_as_word


def test_no_limit_of_length_becomes_the_default(bpe_files, vocab):
  write(bpe_files, tokenizer_config__json={"model_max_length": 1e30})
  save_entity_vocab(vocab, bpe_files / "entity_vocab.json")
  assert load_processor(bpe_files).max_length == 512


def test_an_entity_vocabulary_inside_the_config(bpe_files):
  inlined = {"[MASK]": 0, "[UNK]": 1, "[PAD]": 2, "[MASK2]": 3, "Tokyo": 4}
  write(bpe_files, tokenizer_config__json={"entity_vocab": inlined})
  assert load_processor(bpe_files).entity_vocab.ids == EntityVocab(inlined).ids


@pytest.mark.parametrize(
  ("files", "message"),
  [
    ({"vocab__json": "{"}, "vocab.json: line 1 is not JSON"),
    ({"vocab__json": "[]"}, "vocab.json: holds a list; expected an object"),
    ({"vocab__json": '{"a": 0, "a": 1}'}, "key 'a' stands twice"),
    ({"vocab__json": '{"a": 0, "b": 2}'}, "ids with holes; expected every number from 0 to 1"),
    ({"vocab__json": '{"a": 0, "b": []}'}, "ids with holes"),
    ({"vocab__json": '{"a": 0}'}, "no token <s>; expected a vocabulary like RoBERTa's"),
    ({"merges__txt": "#version: 0.2\na\n"}, "merges.txt: line 2 is 'a'; expected two tokens"),
    ({"merges__txt": "zz yy\n"}, "expected a token for each part of a merge"),
    ({"added_tokens__json": {"<ent>": 5}}, "'<ent>' has id 5; expected 600 or more"),
    ({"added_tokens__json": {"<mask>": 700}}, "'<mask>' has id 700; expected 599"),
    ({"added_tokens__json": {"<ent>": 600, "<ent2>": 600}}, "share an id"),
    ({"added_tokens__json": {"<ent>": "600"}}, "'<ent>' has id '600'; expected 600 or more"),
    ({"tokenizer_config__json": {"added_tokens_decoder": {"600": "<ent>"}}}, "unknown form"),
    ({"tokenizer_config__json": "nope"}, "tokenizer_config.json: line 1 is not JSON"),
  ],
)
def test_faults_in_files(bpe_files, files, message):
  write(bpe_files, **files)
  with pytest.raises(InputError) as error:
    load_tokenizer(bpe_files)
  assert message in str(error.value)
  assert str(bpe_files) in str(error.value)
  assert "\n" not in str(error.value)


def test_a_directory_without_a_tokenizer(tmp_path):
  with pytest.raises(InputError, match=r"no tokenizer; expected vocab.json and merges.txt"):
    load_tokenizer(tmp_path)


def test_missing_merges(bpe_files):
  (bpe_files / "merges.txt").unlink()
  with pytest.raises(InputError, match=r"merges.txt: no such file"):
    load_tokenizer(bpe_files)


@pytest.mark.parametrize(
  ("whole", "message"),
  [
    (
      {"model": {"type": "WordLevel", "vocab": {}}, "pre_tokenizer": {"type": "Metaspace"}},
      "are ['Metaspace', 'WordLevel']; expected ByteLevel and BPE",
    ),
    ({"model": 3}, "are missing or in another form; expected ByteLevel and BPE"),
    (
      {"model": {"type": "BPE", "vocab": {}, "merges": ["a"]}, "pre_tokenizer": {}},
      "are missing or in another form; expected ByteLevel and BPE",
    ),
  ],
)
def test_another_tokenizer_json(tmp_path, whole, message):
  write(tmp_path, tokenizer__json=whole)
  with pytest.raises(InputError) as error:
    load_tokenizer(tmp_path)
  assert message in str(error.value)


GOLDEN = Path(__file__).parents[1] / "goldens/text/unigram"  # the tiny model, by transformers 5.23


def test_a_sentence_piece_model_in_a_tokenizer_json(sentence_piece, tmp_path):
  tokenizer = load_tokenizer(GOLDEN)
  assert tokenizer.special == sentence_piece.special
  texts = [
    TEXT,
    "  two  spaces\tand ﬁne ㍿ ½ ",
    "東京タワー (Tokyo Tower)",
    "القاهرة",
    "<mask>\u200b",
  ]
  expected = sentence_piece.encode(texts, offsets=True)
  assert tokenizer.encode(texts, offsets=True) == expected
  save_tokenizer(tokenizer, tmp_path)
  assert load_tokenizer(tmp_path).encode(texts, offsets=True) == expected


@pytest.mark.parametrize(
  ("changes", "message"),
  [
    ({"model": {"type": "Unigram", "vocab": []}}, "expected <s>, <pad>, </s>, <unk>, pieces, and"),
    ({"model": {"type": "Unigram", "vocab": {"a": 1}}}, "expected pairs of a piece and its score"),
    ({"model": {"type": "Unigram"}}, "expected pairs of a piece and its score"),
    ({"normalizer": {"type": "Precompiled"}}, "normalization by a table of characters"),
    (
      {"normalizer": {"type": "Precompiled", "precompiled_charsmap": "Ä"}},
      "normalization by a table of characters",
    ),
    (
      {"normalizer": {"type": "Precompiled", "precompiled_charsmap": "AAAA"}},
      "cannot be read; expected a SentencePiece model",
    ),
  ],
)
def test_faults_in_a_vocabulary_with_scores(tmp_path, changes, message):
  whole = json.loads((GOLDEN / "tokenizer.json").read_text(encoding="utf-8"))
  write(tmp_path, tokenizer__json=whole | changes)
  with pytest.raises(InputError) as error:
    load_tokenizer(tmp_path)
  assert message in str(error.value)


def test_a_file_that_is_no_sentence_piece_model(tmp_path):
  (tmp_path / "sentencepiece.bpe.model").write_bytes(b"nothing")
  with pytest.raises(InputError, match="expected a SentencePiece model"):
    load_tokenizer(tmp_path)


def test_settings_of_the_wrong_type(bpe_files, vocab):
  save_entity_vocab(vocab, bpe_files / "entity_vocab.json")
  write(bpe_files, tokenizer_config__json={"max_entity_length": "many"})
  with pytest.raises(InputError, match="max_entity_length is 'many'; expected a whole number"):
    load_processor(bpe_files)
  write(bpe_files, tokenizer_config__json={"task": "chess"})
  with pytest.raises(InputError, match="task 'chess'; expected None or one of"):
    load_processor(bpe_files)
