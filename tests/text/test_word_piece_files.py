"""Directories of BERT's kind, in all the forms that transformers has written."""

import json
import shutil

import pytest

from luke_jax.errors import InputError
from luke_jax.text import load_tokenizer, save_tokenizer
from luke_jax.text.word_piece import Normalization, WordPieceTokenizer

TEXT = "Beyoncé lives in [MASK], TOKYO 東京."
MODEL = {
  "type": "WordPiece",
  "unk_token": "[UNK]",
  "continuing_subword_prefix": "##",
  "max_input_chars_per_word": 100,
}


def write(directory, **files):
  for name, value in files.items():
    path = directory / name.replace("__", ".")
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")


@pytest.fixture
def vocab_txt(tiny_directories):
  return (tiny_directories["word_piece"] / "vocab.txt").read_text(encoding="utf-8")


@pytest.fixture
def files(vocab_txt, tmp_path):
  write(tmp_path, vocab__txt=vocab_txt)
  return tmp_path


@pytest.fixture
def whole(vocab_txt):
  """A tokenizer.json as transformers 5 writes it, which is cased here."""
  vocab = {piece: id for id, piece in enumerate(vocab_txt.split("\n")[:-1])}
  return {
    "added_tokens": [{"id": vocab[name], "content": name} for name in ("[PAD]", "[MASK]")],
    "normalizer": {
      "type": "BertNormalizer",
      "clean_text": True,
      "handle_chinese_chars": False,
      "strip_accents": None,
      "lowercase": False,
    },
    "pre_tokenizer": {"type": "BertPreTokenizer"},
    "model": MODEL | {"vocab": vocab},
  }


def test_the_files_transformers_needs(word_piece, files, vocab_txt):
  write(files, added_tokens__json={"left": 1000})
  save_tokenizer(word_piece, files, {"model_max_length": 512})
  names = {"vocab.txt", "tokenizer_config.json", "special_tokens_map.json"}
  assert {file.name for file in files.iterdir()} == names
  assert (files / "vocab.txt").read_text(encoding="utf-8") == vocab_txt
  config = json.loads((files / "tokenizer_config.json").read_text())
  roles = {
    "cls_token": "[CLS]",
    "pad_token": "[PAD]",
    "sep_token": "[SEP]",
    "unk_token": "[UNK]",
    "mask_token": "[MASK]",
  }
  assert json.loads((files / "special_tokens_map.json").read_text()) == roles
  assert config == roles | {
    "tokenizer_class": "BertTokenizer",
    "do_lower_case": True,
    "strip_accents": None,
    "tokenize_chinese_chars": True,
    "model_max_length": 512,
  }


def test_settings_come_back(files):
  chosen = Normalization(do_lower_case=False, strip_accents=True, tokenize_chinese_chars=False)
  tokenizer = load_tokenizer(files)
  assert isinstance(tokenizer, WordPieceTokenizer)
  assert tokenizer.normalization == Normalization()
  other = WordPieceTokenizer(tokenizer._pieces, tokenizer.special, chosen)
  save_tokenizer(other, files / "new")
  again = load_tokenizer(files / "new")
  assert isinstance(again, WordPieceTokenizer) and again.normalization == chosen
  assert again.encode([TEXT]) == other.encode([TEXT]) != tokenizer.encode([TEXT])


def test_text_is_lower_cased_unless_the_files_say_otherwise(files, whole):
  def settings():
    return load_tokenizer(files).normalization

  assert settings().do_lower_case
  write(files, tokenizer__json=whole)
  assert settings() == Normalization(do_lower_case=False, tokenize_chinese_chars=False)
  write(files, tokenizer_config__json={"do_lower_case": True, "strip_accents": False})
  assert settings() == Normalization(True, False, False)


@pytest.mark.parametrize("named", [True, False])
def test_a_directory_with_tokenizer_json_only(whole, tmp_path, files, named):
  if not named:
    del whole["model"]["type"]  # as the first files of this kind
  alone = tmp_path / "alone"
  alone.mkdir()
  write(alone, tokenizer__json=whole)
  found, expected = load_tokenizer(alone), load_tokenizer(files)
  assert found.special == expected.special
  assert not found.normalization.do_lower_case
  write(alone, tokenizer_config__json={"do_lower_case": True, "tokenize_chinese_chars": True})
  assert load_tokenizer(alone).encode([TEXT], offsets=True) == expected.encode([TEXT], offsets=True)
  save_tokenizer(found, alone / "new")
  assert (alone / "new/vocab.txt").read_bytes() == (files / "vocab.txt").read_bytes()


def test_vocabularies_of_baidu_have_a_second_column(vocab_txt, files, tmp_path):
  lines = [f"{piece}\t{id}" for id, piece in enumerate(vocab_txt.split("\n")[:-1])]
  (tmp_path / "baidu").mkdir()
  write(tmp_path / "baidu", vocab__txt="\n".join(lines))
  found = load_tokenizer(tmp_path / "baidu")
  assert found.encode([TEXT]) == load_tokenizer(files).encode([TEXT])
  lines[7] = lines[8]
  write(tmp_path / "baidu", vocab__txt="\n".join(lines))
  with pytest.raises(InputError, match=r"vocab.txt: line 8 is '.*; expected a piece, a tab and 7"):
    load_tokenizer(tmp_path / "baidu")
  lines = vocab_txt.split("\n")[:-1]
  lines[7] += "\t7"
  write(tmp_path / "baidu", vocab__txt="\n".join(lines))
  with pytest.raises(InputError, match=r"vocab.txt: line 8 is '.*; expected a piece alone, as on"):
    load_tokenizer(tmp_path / "baidu")


def test_lines_end_in_any_way(vocab_txt, files):
  size = load_tokenizer(files).vocab_size
  for ending in (b"", b"\n", b"\r\n", b"\n\n"):
    lines = vocab_txt.encode().rstrip().replace(b"\n", b"\r\n" if b"\r" in ending else b"\n")
    (files / "vocab.txt").write_bytes(lines + ending)
    assert load_tokenizer(files).vocab_size == size


def test_markers_of_a_luke_with_this_vocabulary(word_piece, tmp_path):
  luke = word_piece.with_words(["<ent>", "<ent2>", "[ENTITY]"])
  save_tokenizer(luke, tmp_path)
  again = load_tokenizer(tmp_path)
  assert again.special == luke.special
  added = json.loads((tmp_path / "added_tokens.json").read_text())
  assert list(added.values()) == [468, 469, 470]
  (tmp_path / "added_tokens.json").unlink()  # the settings still name them
  assert load_tokenizer(tmp_path).special.marker_ids == (468, 469)


def test_tokens_of_the_vocabulary_may_be_special_too(files):
  decoder = {"1": {"content": "[unused0]"}, "5": {"content": "[MASK]"}, "468": {"content": "[E]"}}
  for config in (
    {"added_tokens_decoder": decoder},
    {"additional_special_tokens": ["[unused0]"], "extra_special_tokens": {"e": "[E]"}},
  ):
    write(files, tokenizer_config__json=config)
    tokenizer = load_tokenizer(files)
    assert tokenizer.encode(["a[unused0]"])[0].ids[1:] == [1]
    save_tokenizer(tokenizer, files / "new")
    assert load_tokenizer(files / "new").special == tokenizer.special


def test_special_tokens_of_other_names(vocab_txt, files):
  """As in MPNet, whose vocabulary is BERT's with some names of RoBERTa's."""
  for old, new in (("[CLS]", "<s>"), ("[PAD]", "<pad>"), ("[SEP]", "</s>"), ("[MASK]", "<mask>")):
    vocab_txt = vocab_txt.replace(old, new)
  write(files, vocab__txt=vocab_txt)
  with pytest.raises(InputError, match=r"vocab.txt: no token \[CLS\]; expected a vocabulary like"):
    load_tokenizer(files)
  names = {"cls_token": "<s>", "pad_token": "<pad>", "sep_token": {"content": "</s>"}}
  write(files, special_tokens_map__json=names, tokenizer_config__json={"mask_token": "<mask>"})
  tokenizer = load_tokenizer(files)
  special = tokenizer.special
  assert (special.start, special.pad, special.end, special.unknown) == (3, 0, 4, 2)
  assert special.roles.mask == "<mask>"
  assert tokenizer.encode(["a <mask>"])[0].ids[-1] == special.mask == 5
  save_tokenizer(tokenizer, files / "new")
  assert load_tokenizer(files / "new").special == special


@pytest.mark.parametrize(
  ("files_to_write", "message"),
  [
    ({"vocab__txt": ""}, "vocab.txt: no token [CLS]; expected a vocabulary like BERT's"),
    ({"tokenizer_config__json": {"do_lower_case": "yes"}}, "do_lower_case is 'yes'; expected true"),
    ({"tokenizer_config__json": {"do_lower_case": None}}, "do_lower_case is None; expected true"),
    (
      {"tokenizer_config__json": {"tokenizer_class": "BertJapaneseTokenizer"}},
      "tokenizer_class is 'BertJapaneseTokenizer'; expected BertTokenizer",
    ),
    ({"added_tokens__json": {"[E]": 7}}, "added token '[E]' has id 7; expected 468 or more"),
    ({"added_tokens__json": {"[unused0]": 500}}, "'[unused0]' has id 500; expected 1"),
    ({"tokenizer__json": {"model": MODEL}}, "are missing or in another form; expected BertNorm"),
  ],
)
def test_faults_in_files(files, files_to_write, message):
  write(files, **files_to_write)
  with pytest.raises(InputError) as error:
    load_tokenizer(files)
  assert message in str(error.value)
  assert str(files) in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize(
  ("part", "change", "message"),
  [
    ("normalizer", {"type": "Lowercase"}, "are ['Lowercase', 'BertPreTokenizer', 'WordPiece']"),
    ("normalizer", {"clean_text": False}, "[False, '##', 100]; expected BertNormalizer that"),
    ("model", {"max_input_chars_per_word": 50}, "[True, '##', 50]; expected BertNormalizer that"),
    ("model", {"vocab": {"[PAD]": 0, "[UNK]": 2}}, "vocabulary with holes; expected every id"),
    ("model", {"vocab": {"[PAD]": 0, "[UNK]": 0}}, "vocabulary with holes; expected every id"),
    ("model", {"vocab": ["[PAD]"]}, "vocabulary with holes; expected every id"),
  ],
)
def test_another_tokenizer_json(tmp_path, whole, part, change, message):
  whole[part] |= change
  write(tmp_path, tokenizer__json=whole)
  with pytest.raises(InputError) as error:
    load_tokenizer(tmp_path)
  assert message in str(error.value)


def test_models_without_entities_need_no_markers(tiny_directories, tmp_path):
  for kind, name in (("byte_level", "RobertaTokenizer"), ("sentence_piece", "XLMRobertaTokenizer")):
    shutil.copytree(tiny_directories[kind], tmp_path / kind)
    plain, luke = load_tokenizer(tmp_path / kind, markers=False), load_tokenizer(tmp_path / kind)
    assert plain.special.marker_ids == ()
    assert plain.vocab_size == luke.vocab_size - 2
    assert plain.encode([TEXT]) == luke.encode([TEXT])
    assert plain.with_words(["<ent>", "<ent2>"]).special == luke.special
    save_tokenizer(plain, tmp_path / kind)
    config = json.loads((tmp_path / kind / "tokenizer_config.json").read_text())
    assert config["tokenizer_class"] == name and "entity_token_1" not in config
    assert load_tokenizer(tmp_path / kind, markers=False).special == plain.special
    save_tokenizer(luke, tmp_path / kind)
    assert load_tokenizer(tmp_path / kind, markers=False).special == luke.special


def test_pieces_with_the_ends_of_a_roberta_are_an_mpnets(vocab_txt, tmp_path):
  """Two of its texts are joined by two ends, which BERT's tokenizer would not do."""
  theirs = {"[CLS]": "<s>", "[SEP]": "</s>", "[PAD]": "<pad>", "[MASK]": "<mask>"}
  lines = [theirs.get(line, line) for line in vocab_txt.splitlines()]
  keys = ("cls_token", "sep_token", "pad_token", "mask_token")
  write(
    tmp_path,
    vocab__txt="\n".join(lines),
    tokenizer_config__json=dict(zip(keys, theirs.values(), strict=True)),
  )
  tokenizer = load_tokenizer(tmp_path)
  assert tokenizer.special.doubled
  assert tokenizer.hub_settings()["tokenizer_class"] == "MPNetTokenizer"
  save_tokenizer(tokenizer, tmp_path / "saved")
  again = load_tokenizer(tmp_path / "saved")
  assert again.special == tokenizer.special and again.encode([TEXT]) == tokenizer.encode([TEXT])
