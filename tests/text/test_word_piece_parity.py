"""Equality of WordPiece with transformers' tokenizer of BERT, version 4 or 5."""

import json

import pytest

from luke_jax.text import load_tokenizer, save_tokenizer
from luke_jax.text.tokenizer import MARKERS
from luke_jax.text.word_piece import Normalization, WordPieceTokenizer

pytestmark = pytest.mark.parity

HOSTILE = [
  "",
  " ",
  "\n\t\r\u00a0\u3000\u2028",
  "Jim Henson was a puppeteer.",
  "don't U.S.A. $5,000.00",
  "naïve café—unaffable 你好",
  "Cafe\u0301 e\u0301\u0327 \u0301alone ÅÅ ﬁ ½ ß ẞ İ ŉ",
  "un\u200bseen zero\u0000byte soft\u00adhyphen \ufeffmark \ufffd \x7f\x1b[2J",
  "東京タワー北京是中国首都。한국어 ไทย हिन्दी",
  "\U00020000\U0002b820\U000323b0 𝔘𝔫𝔦 👩‍👩‍👧 🇯🇵 e🙂a_b",
  "Ｈｅｌｌｏ，世界！　臺灣",
  "שָׁלוֹם القاهرةُ Москва́ ΣΊΣΥΦΟΣ",
  "[MASK][MASK] a [MASK]b[mask] [ MASK ] [SEP][CLS][PAD][UNK] [MASK",
  "<ent>Tokyo<ent2> <ENT> <ent >",
  "##er # # ## a##b",
  "x" * 100 + " " + "x" * 101 + " " + "é" * 100,
  "a" * 50 + "東" + "a" * 51,
  "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~ «»…–—“”‘’¿¡§¶·",
  "A" + "\u0301" * 300 + "b",
  "\ue000 private \u0378 unassigned \u061c",
]
CHOICES = [
  Normalization(),
  Normalization(do_lower_case=False),
  Normalization(strip_accents=False),
  Normalization(do_lower_case=False, strip_accents=True, tokenize_chinese_chars=False),
]


@pytest.fixture(scope="module")
def transformers():
  return pytest.importorskip("transformers")


def assert_equal(tokenizer, theirs, texts):
  expected = theirs(texts, add_special_tokens=False, return_offsets_mapping=True)
  found = tokenizer.encode(texts, offsets=True)
  for text, tokens, ids, offsets in zip(
    texts, found, expected["input_ids"], expected["offset_mapping"], strict=True
  ):
    assert tokens.ids == ids, text
    assert tokens.offsets == offsets, text


@pytest.mark.parametrize("normalization", CHOICES, ids=str)
@pytest.mark.parametrize("markers", [(), MARKERS], ids=["bert", "luke"])
def test_hostile_texts(transformers, word_piece, tmp_path, normalization, markers):
  words = [*markers, "[ENTITY]"] if markers else []
  ours = WordPieceTokenizer(word_piece._pieces, word_piece.special.with_words(words, 468))
  ours = WordPieceTokenizer(ours._pieces, ours.special, normalization)
  save_tokenizer(ours, tmp_path / "ours")
  theirs = transformers.AutoTokenizer.from_pretrained(tmp_path / "ours")
  assert type(theirs).__name__ in ("BertTokenizer", "BertTokenizerFast")
  assert len(theirs) == ours.vocab_size
  assert_equal(ours, theirs, HOSTILE)
  for text in HOSTILE:
    ids = theirs(text)["input_ids"]
    assert ids == [ours.special.start, *ours.encode([text])[0].ids, ours.special.end]
    assert ours.decode(ids) == theirs.decode(ids, clean_up_tokenization_spaces=False)
  theirs.save_pretrained(tmp_path / "theirs")
  again = load_tokenizer(tmp_path / "theirs")
  assert again.special == ours.special
  assert isinstance(again, WordPieceTokenizer) and again.normalization == normalization
  assert again._pieces == ours._pieces


def test_a_vocabulary_without_settings(transformers, tiny_directories):
  theirs = transformers.BertTokenizerFast.from_pretrained(tiny_directories["word_piece"])
  assert_equal(load_tokenizer(tiny_directories["word_piece"]), theirs, HOSTILE)


@pytest.mark.parametrize("kind", ["byte_level", "sentence_piece"])
def test_tokenizers_without_markers(transformers, tiny_directories, tmp_path, kind):
  ours = load_tokenizer(tiny_directories[kind], markers=False)
  save_tokenizer(ours, tmp_path)
  theirs = transformers.AutoTokenizer.from_pretrained(tmp_path)
  assert len(theirs) == ours.vocab_size
  for text in ("Beyoncé lives in  Los Angeles.", "a<mask>", "東京 x"):
    assert theirs(text)["input_ids"][1:-1] == ours.encode([text])[0].ids


@pytest.mark.real_data
def test_ten_thousand_lines(transformers, real_data, real_word_pieces):
  squad = json.loads((real_data / "squad/dev-v1.1.json").read_text(encoding="utf-8"))
  paragraphs = [each for article in squad["data"] for each in article["paragraphs"]]
  questions = [qa["question"] for each in paragraphs for qa in each["qas"]]
  lines = [each["context"] for each in paragraphs] + questions
  directory = real_word_pieces["bert-base-uncased"]
  theirs = transformers.BertTokenizerFast.from_pretrained(directory)
  assert_equal(load_tokenizer(directory), theirs, lines[:10_000])
