"""Known values with the real vocabularies."""

import time
from dataclasses import replace

import pytest

from luke_jax.text import (
  EntityVocab,
  Processor,
  load_entity_vocab,
  load_tokenizer,
  save_entity_vocab,
  save_tokenizer,
)

pytestmark = pytest.mark.real_data

TEXT = "Top seed Ana Ivanovic said on Thursday she could hardly believe her luck."
SPANS = [(9, 21), (30, 38), (39, 42)]


@pytest.fixture
def luke(roberta):
  vocab = {"[PAD]": 0, "[UNK]": 1, "[MASK]": 2, "[MASK2]": 3, "Ana Ivanovic": 4, "Thursday": 5}
  return Processor(roberta, EntityVocab(vocab))


def positions_of(inputs):
  return [[p for p in row if p >= 0] for row in inputs["entity_position_ids"][0].tolist()]


def test_special_ids(roberta):
  assert roberta.special.marker_ids == (50265, 50266)
  assert roberta.special.mask == 50264
  assert roberta.vocab_size == 50267


def test_entities(luke):
  titles = ["Ana Ivanovic", "Thursday", "Dummy Entity"]
  inputs = luke(TEXT, entity_spans=SPANS, entities=titles)
  assert luke.tokenizer.decode(inputs["input_ids"][0]) == f"<s>{TEXT}</s>"
  assert inputs["entity_ids"].tolist() == [[4, 5, 1]]
  assert positions_of(inputs) == [[3, 4, 5], [8], [9]]


def test_a_pair_of_texts(luke):
  first, second = TEXT[:22] + "said on Thursday", "she could hardly believe her luck."
  inputs = luke(first, second, entity_spans=SPANS[:2], entity_spans_pair=[(0, 3)])
  assert luke.tokenizer.decode(inputs["input_ids"][0]) == f"<s>{first}</s></s>{second}</s>"
  assert positions_of(inputs) == [[3, 4, 5], [8], [11]]


def test_entity_classification(luke):
  inputs = replace(luke, task="entity_classification")(TEXT, entity_spans=[(39, 42)])
  marked = TEXT.replace(" she", "<ent> she<ent>")
  assert luke.tokenizer.decode(inputs["input_ids"][0]) == f"<s>{marked}</s>"
  assert inputs["entity_ids"].tolist() == [[2]]
  assert positions_of(inputs) == [[9, 10, 11]]


def test_entity_pair_classification(luke):
  task = replace(luke, task="entity_pair_classification")
  inputs = task(TEXT, entity_spans=[(9, 21), (39, 42)])
  assert inputs["entity_ids"].tolist() == [[2, 3]]
  assert positions_of(inputs) == [[3, 4, 5, 6, 7], [11, 12, 13]]


def test_entity_span_classification(luke):
  task = replace(luke, task="entity_span_classification")
  inputs = task(TEXT, entity_spans=[(0, 8), (9, 21), (39, 42)])
  assert inputs["entity_ids"].tolist() == [[2, 2, 2]]
  assert positions_of(inputs) == [[1, 2], [3, 4, 5], [9]]
  assert inputs["entity_start_positions"].tolist() == [[1, 3, 9]]
  assert inputs["entity_end_positions"].tolist() == [[2, 5, 9]]


def test_the_sentence_of_the_model_goldens(luke, real_data):
  text = (
    "Top seed Ana Ivanovic said on Thursday she could hardly believe her luck as a fortuitous"
    " netcord helped the new world number one avoid a humiliating second- round exit at Wimbledon ."
  )
  tokenizer = load_tokenizer(real_data / "tokenizers/roberta")
  tokenizer = tokenizer.with_prefix(True, whole_texts=True)
  prefixing = replace(luke, tokenizer=tokenizer, task="entity_classification")
  assert prefixing(text, entity_spans=[(39, 42)])["input_ids"].shape == (1, 42)


def test_offsets_over_squad(luke, squad_paragraphs):
  texts = squad_paragraphs[:500]
  for text, row in zip(texts, luke.tokenizer.encode(texts, offsets=True), strict=True):
    covered = sorted({i for start, end in row.offsets for i in range(start, end)})
    assert "".join(text[i] for i in covered if not text[i].isspace()) == "".join(text.split())
    assert luke.tokenizer.decode(row.ids) == text


@pytest.mark.slow
def test_half_a_million_titles_load_in_seconds(tmp_path):
  titles = {f"A title of number {i}": 4 + i for i in range(499_996)}
  vocab = EntityVocab({"[PAD]": 0, "[UNK]": 1, "[MASK]": 2, "[MASK2]": 3} | titles)
  for name in ("v.json", "v.tsv"):
    save_entity_vocab(vocab, tmp_path / name)
    start = time.perf_counter()
    assert len(load_entity_vocab(tmp_path / name)) == 500_000
    assert time.perf_counter() - start < 10


# From the scripts that came with BERT and ERNIE, and from the tokenizers library.
WORD_PIECES = [
  ("bert-base-uncased", "Jim Henson was a puppeteer.", "3958 27227 2001 1037 13997 11510 1012"),
  (
    "bert-base-uncased",
    "don't U.S.A. $5,000.00",
    "2123 1005 1056 1057 1012 1055 1012 1037 1012 1002 1019 1010 2199 1012 4002",
  ),
  ("bert-base-uncased", "naïve café—unaffable 你好", "15743 7668 1517 14477 20961 3468 100 100"),
  ("bert-base-chinese", "北京是中国首都。", "1266 776 3221 704 1744 7674 6963 511"),
  (
    "bert-base-chinese",
    "ERNIE 1.0模型在2019年发布",
    "10451 10519 122 119 121 3563 1798 1762 9160 2399 1355 2357",
  ),
  ("ernie-1.0", "北京是中国首都。", "252 560 10 12 20 504 165 12043"),
  ("ernie-1.0", "ERNIE 1.0模型在2019年发布", "9150 10490 208 42 540 469 289 11 7085 17 34 460"),
  ("ernie-1.0", "Ｈｅｌｌｏ，世界！", "17963 4 203 280 12044"),
  ("ernie-1.0", "naïve café 你好", "5569 9758 9554 226 170"),
  ("ernie-1.0", "臺灣🙂a_b", "17963 17963 17963 17963 1801"),
  ("ernie-1.0", "[MASK]龙江", "3 550 409"),
]


@pytest.mark.parametrize(("name", "text", "ids"), WORD_PIECES)
def test_word_pieces(real_word_pieces, name, text, ids):
  tokenizer = load_tokenizer(real_word_pieces[name])
  (tokens,) = tokenizer.encode([text], offsets=True)
  assert tokens.ids == [int(id) for id in ids.split()]
  assert "".join(text[start:end] for start, end in tokens.offsets) == text.replace(" ", "")


def test_special_ids_of_word_pieces(real_word_pieces):
  found = {}
  for name, directory in real_word_pieces.items():
    special = load_tokenizer(directory).special
    found[name] = [special.pad, special.start, special.end, special.mask, special.unknown]
    assert special.marker_ids == ()
  assert found == {
    "bert-base-uncased": [0, 101, 102, 103, 100],
    "bert-base-chinese": [0, 101, 102, 103, 100],
    "ernie-1.0": [0, 1, 2, 3, 17963],
  }


@pytest.mark.parametrize("name", ["bert-base-uncased", "bert-base-chinese"])
def test_a_real_vocabulary_is_written_as_it_was_read(real_word_pieces, tmp_path, name):
  """The Chinese one has a piece that is U+2028, which is an end of line to Python."""
  tokenizer = load_tokenizer(real_word_pieces[name])
  save_tokenizer(tokenizer, tmp_path)
  expected = (real_word_pieces[name] / "vocab.txt").read_bytes()
  assert (tmp_path / "vocab.txt").read_bytes() == expected
