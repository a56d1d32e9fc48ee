"""Known values with the real vocabularies."""

import time
from dataclasses import replace

import pytest

from luke_jax.text import (
  EntityVocab,
  LukeProcessor,
  load_entity_vocab,
  load_tokenizer,
  save_entity_vocab,
)

pytestmark = pytest.mark.real_data

TEXT = "Top seed Ana Ivanovic said on Thursday she could hardly believe her luck."
SPANS = [(9, 21), (30, 38), (39, 42)]


@pytest.fixture
def luke(roberta):
  vocab = {"[PAD]": 0, "[UNK]": 1, "[MASK]": 2, "[MASK2]": 3, "Ana Ivanovic": 4, "Thursday": 5}
  return LukeProcessor(roberta, EntityVocab(vocab))


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
  tokenizer.add_prefix_space = True
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
