"""DeBERTa's vocabularies: a SentencePiece model or a tokenizer.json, with BERT's special tokens."""

import io
import json
import random
import unicodedata

import pytest
import sentencepiece

from luke_jax.errors import InputError
from luke_jax.text import load_tokenizer, save_tokenizer

SENTENCES = """
Beyoncé lives in Los Angeles, and she was born in Houston, Texas.
The company was founded in 1998 and moved its office to Dublin.
Über die Brücke fährt ein Zug nach Köln!
東京は日本の首都です。東京タワーは港区にあります。
Москва стоит на реке, а Волга течёт на юг.
القاهرة هي عاصمة مصر
""".strip().splitlines()
SPECIAL = {"pad": "[PAD]", "bos": "[CLS]", "eos": "[SEP]", "unk": "[UNK]"}
WORDS = """
Los Angeles tokyo 東京 Köln مصر ﬁ ½ Ａ ㍿ ☃ é 한국 क्षि 😀 a Z ß İ . , don't 1998 - \\ " ▁ <s>
[MASK] [SEP] [UNK] [CLS
"""
# Controls, marks, all kinds of space, and joined characters.
PARTS = [
  *WORDS.split(),
  *"\x00\x07\x7f\u200b\u202e\ufeff\ud7ff\U0010ffff\n\t\r\u00a0\u3000\u2028\u0301",
]
PARTS += ["e\u0301", "\r\n", " ", "  ", " " * 40, "x" * 60, "[ MASK ]", "👩\u200d👧"]


def hostile(count):
  """Texts of odd parts in any order, and the empty one."""
  rng = random.Random(0)
  return ["", *("".join(rng.choices(PARTS, k=rng.randrange(1, 9))) for _ in range(count - 1))]


@pytest.fixture(scope="module")
def pieces():
  """The bytes of a model as DeBERTa's: its special tokens first, without a mask."""
  ids = {f"{role}_id": i for i, role in enumerate(SPECIAL)}
  names = {f"{role}_piece": name for role, name in SPECIAL.items()}
  made = io.BytesIO()
  sentencepiece.SentencePieceTrainer.train(
    sentence_iterator=iter(SENTENCES),
    model_writer=made,
    vocab_size=160,
    hard_vocab_limit=False,
    character_coverage=1.0,
    num_threads=1,
    minloglevel=2,
    **ids,
    **names,
  )
  return made.getvalue()


@pytest.fixture
def folder(pieces, tmp_path):
  (tmp_path / "spm.model").write_bytes(pieces)
  (tmp_path / "config.json").write_text(json.dumps({"model_type": "deberta-v2"}))
  return tmp_path


def test_ids_are_those_of_sentencepiece(pieces, folder):
  model = sentencepiece.SentencePieceProcessor(model_proto=pieces)
  tokenizer = load_tokenizer(folder)
  assert tokenizer.special.ids == {
    **{"[CLS]": 1, "[PAD]": 0, "[SEP]": 2, "[UNK]": 3},
    "[MASK]": len(model),
  }
  assert tokenizer.vocab_size == len(model) + 1 and not tokenizer.special.doubled
  # Characters that others join or mark have rows in the table that the library does not find.
  texts = [x for x in hostile(500) if not {"[", "\u200d", "\u0301"} & {*x}]
  assert len(texts) > 200
  for text, tokens in zip(texts, tokenizer.encode(texts), strict=True):
    assert tokens.ids == model.encode(text), text


def test_offsets_leave_out_the_space_before_a_word(folder):
  text = "  Los  Angeles\n東京 [MASK] ﬁ."
  tokenizer = load_tokenizer(folder)
  (tokens,) = tokenizer.encode([text], offsets=True)
  units = tokenizer.units(text)
  assert len(units) == len(tokens.ids) and all(x == x.strip() or x.isspace() for x in units)
  assert units[1:4] == ["L", "o", "s"] and "[MASK]" in units and units[-1] == "."
  assert tokenizer.decode(tokens.ids[: units.index("[MASK]")]) == "Los Angeles 東京"


@pytest.mark.parametrize("left", [("tokenizer.json",), ("tokenizer.json", "spm.model")])
def test_a_saved_directory_gives_the_same(folder, left):
  tokenizer = load_tokenizer(folder).with_words(["<new>"])
  save_tokenizer(tokenizer, folder)
  if "spm.model" not in left:
    (folder / "spm.model").unlink()
  again = load_tokenizer(folder)
  assert (
    again.special == tokenizer.special and again.special.ids["<new>"] == tokenizer.vocab_size - 1
  )
  texts = [*hostile(100), "a <new> word"]
  assert again.encode(texts, offsets=True) == tokenizer.encode(texts, offsets=True)
  settings = json.loads((folder / "tokenizer_config.json").read_text())
  assert settings["tokenizer_class"] == "DebertaV2Tokenizer"


def test_settings_beside_a_model_count(folder):
  plain = load_tokenizer(folder).encode(["KÖLN!"])
  (folder / "tokenizer_config.json").write_text('{"do_lower_case": true, "split_by_punct": true}')
  tokenizer = load_tokenizer(folder)
  assert tokenizer.encode(["KÖLN!"]) == tokenizer.encode(["köln!"]) != plain
  assert tokenizer.units("köln!")[-1] == "!"


def test_files_that_are_no_vocabulary(folder, pieces):
  for content in (b"", b"\x0a\xff", pieces[:-7], b"not a model"):
    (folder / "spm.model").write_bytes(content)
    with pytest.raises(InputError, match=r"spm.model: .*expected a unigram model"):
      load_tokenizer(folder)
  (folder / "spm.model").write_bytes(pieces.replace(b"[CLS]", b"[CLX]"))
  with pytest.raises(InputError, match=r"spm.model: no token \[CLS\]; expected a vocabulary like"):
    load_tokenizer(folder)
  (folder / "spm.model").unlink()
  with pytest.raises(InputError, match=r"no tokenizer; expected .* or spm.model$"):
    load_tokenizer(folder)


def assert_equal(ours, theirs, texts):
  """Compares ids, and the offsets of all but marks of a word alone, less white space."""
  for text, tokens in zip(texts, ours.encode(texts, offsets=True), strict=True):
    expected = theirs(text, add_special_tokens=False, return_offsets_mapping=True)
    assert tokens.ids == expected["input_ids"], text
    pieces = theirs.convert_ids_to_tokens(tokens.ids)
    for piece, found, (start, end) in zip(
      pieces, tokens.offsets, expected["offset_mapping"], strict=True
    ):
      begun = end - len(text[start:end].lstrip())
      assert piece == "▁" or found == (begun if begun < end else start, end), (text, piece)


def is_plain(text):
  """Whether the table of a model moves and drops no character, and makes no other white space."""
  kinds = {unicodedata.category(x) for x in text if x not in "\n\t\r"}
  return not {"▁", "\u0301"} & {*text} and not kinds & {"Cc", "Cf", "Zl"}


def is_composed_alone(text):
  return unicodedata.normalize("NFKC", text) == unicodedata.normalize("NFC", text)


@pytest.mark.parity
def test_ids_and_offsets_are_those_of_transformers(folder, tmp_path):
  """Version 5 leaves the model's table of characters out, and composes characters only."""
  transformers = pytest.importorskip("transformers")
  theirs, texts = transformers.AutoTokenizer.from_pretrained(folder), hostile(500)
  save_tokenizer(load_tokenizer(folder), tmp_path / "ours")
  theirs.save_pretrained(tmp_path / "theirs")
  for name in ("ours", "theirs"):
    (tmp_path / name / "config.json").write_text((folder / "config.json").read_text())
    if (tmp_path / name / "spm.model").exists():
      (tmp_path / name / "spm.model").unlink()
  older = int(transformers.__version__.split(".")[0]) < 5
  if older:  # normalises a text before it looks for [UNK] in it
    texts = [x for x in texts if "[UNK]" not in x]
  assert_equal(load_tokenizer(tmp_path / "theirs"), theirs, texts)
  (tmp_path / "theirs" / "spm.model").write_bytes(b"not read where there is the other")
  assert_equal(load_tokenizer(tmp_path / "theirs"), theirs, texts)
  texts = [x for x in texts if is_plain(x) and (older or is_composed_alone(x))]
  assert len(texts) > 100
  assert_equal(load_tokenizer(folder), theirs, texts)
  again = transformers.AutoTokenizer.from_pretrained(tmp_path / "ours")
  assert again("a", "b")["input_ids"] == theirs("a", "b")["input_ids"]
  assert_equal(load_tokenizer(tmp_path / "ours"), again, texts)
