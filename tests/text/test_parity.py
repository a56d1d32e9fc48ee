"""Equality with transformers, on real vocabularies and texts.

The slow tokenizers of 4.57 are the measure. Version 5 reads the same directory; of its tokenizers
the LUKE one gives the same without truncation, the mLUKE one numbers the pieces wrongly.
"""

import random
from dataclasses import replace

import numpy as np
import pytest

from luke_jax.text import EntityVocab, Processor, load_processor, load_tokenizer, save_processor

pytestmark = [pytest.mark.parity, pytest.mark.real_data]

LITE = {"[MASK]": 0, "[UNK]": 1, "[PAD]": 2, "[MASK2]": 3}
MARKED = {"entity_classification": 1, "entity_pair_classification": 2}
TASKS = [None, *MARKED, "entity_span_classification"]


@pytest.fixture(scope="module")
def transformers():
  return pytest.importorskip("transformers")


def random_spans(text, rng, count):
  spans = []
  while len(spans) < count:
    start = rng.randrange(len(text))
    end = min(len(text), start + rng.choice((1, 2, 5, 10, 30, 60)))
    if text[start:end].strip():
      spans.append((start, end))
  return spans


def apart(spans):
  (start, end), (tail_start, tail_end) = spans
  return max(start, tail_start) >= min(end, tail_end)


def spans_for(task, text, rng):
  spans = random_spans(text, rng, MARKED.get(task, 20))
  while task == "entity_pair_classification" and not apart(spans):
    spans = random_spans(text, rng, 2)
  return spans


def assert_same(ours, theirs):
  assert set(ours) == set(theirs)
  for name, array in ours.items():
    np.testing.assert_array_equal(array, theirs[name], err_msg=name)


def compare(tokenizer_class, processor, directory, texts):
  rng = random.Random(0)
  save_processor(processor, directory)
  theirs = tokenizer_class.from_pretrained(directory)
  for start in range(0, len(texts), 32):
    batch = texts[start : start + 32]
    spans = [spans_for(processor.task, text, rng) for text in batch]
    expected = theirs(batch, entity_spans=spans, padding=True, return_tensors="np")
    assert_same(processor(batch, entity_spans=spans), expected)


@pytest.mark.parametrize("task", TASKS)
def test_luke_over_squad(transformers, roberta, squad_paragraphs, tmp_path, task):
  """Half a thousand paragraphs with 20 spans each make ten thousand for a task without markers."""
  processor = Processor(roberta, EntityVocab(LITE), task, max_length=4096)
  texts = random.Random(1).sample(squad_paragraphs, 500)
  compare(transformers.LukeTokenizer, processor, tmp_path, texts)


@pytest.mark.parametrize("task", TASKS)
def test_mluke_over_squad(transformers, real_sentence_pieces, squad_paragraphs, tmp_path, task):
  if int(transformers.__version__.split(".")[0]) >= 5:
    pytest.skip("transformers 5 numbers the pieces wrongly")
  for directory in real_sentence_pieces:
    tokenizer = load_tokenizer(directory)
    processor = Processor(tokenizer, EntityVocab(LITE), task, max_length=4096)
    texts = random.Random(1).sample(squad_paragraphs, 100)
    compare(transformers.MLukeTokenizer, processor, tmp_path / directory.name, texts)


def test_xlm_r_as_transformers_5_writes_it(
  transformers, real_sentence_pieces, squad_paragraphs, tmp_path
):
  if int(transformers.__version__.split(".")[0]) < 5:
    pytest.skip("transformers 4 writes the SentencePiece model")
  texts = random.Random(3).sample(squad_paragraphs, 200)
  for directory in real_sentence_pieces:
    if "bpe" in directory.name:  # the file has probabilities, which models of this type have not
      continue
    theirs = transformers.XLMRobertaTokenizer.from_pretrained(directory)
    theirs.save_pretrained(tmp_path / directory.name)
    written = load_tokenizer(tmp_path / directory.name, markers=False)
    assert written.encode(texts) == load_tokenizer(directory, markers=False).encode(texts)


def test_pairs_and_titles(transformers, roberta, squad_paragraphs, tmp_path):
  rng = random.Random(2)
  vocab = EntityVocab(LITE | {"Denver Broncos": 4, "Chopin": 5})
  processor = Processor(roberta, vocab, max_length=4096, max_entity_length=40)
  save_processor(processor, tmp_path)
  theirs = transformers.LukeTokenizer.from_pretrained(tmp_path)
  for first, second in zip(squad_paragraphs[:50], squad_paragraphs[50:100], strict=True):
    given = {
      "text": first,
      "text_pair": second,
      "entity_spans": random_spans(first, rng, 5),
      "entity_spans_pair": random_spans(second, rng, 5),
      "entities": rng.choices(["Denver Broncos", "Chopin", "[MASK]", "nobody"], k=5),
      "entities_pair": rng.choices(["Denver Broncos", "Chopin", "[MASK]", "nobody"], k=5),
    }
    assert_same(processor(**given), theirs(**given, return_tensors="np"))


def test_a_saved_directory_gives_the_same_settings(transformers, roberta, tmp_path):
  processor = Processor(roberta, EntityVocab(LITE), max_entity_length=50, max_mention_length=9)
  save_processor(processor, tmp_path)
  theirs = transformers.AutoTokenizer.from_pretrained(tmp_path)
  assert type(theirs).__name__ == "LukeTokenizer"
  assert (theirs.max_entity_length, theirs.max_mention_length) == (50, 9)
  markers = theirs.convert_tokens_to_ids(["<ent>", "<ent2>", "<mask>"])
  assert markers == [*roberta.special.marker_ids, roberta.special.mask]
  text = "It is <mask> in <s>Los Angeles</s>, 東京 and  <mask>."
  for spans in ([(19, 30)], [(6, 12), (0, 2)]):
    inputs = replace(processor, task=None)(text, entity_spans=spans)
    assert_same(inputs, theirs(text, entity_spans=spans, return_tensors="np"))


def test_a_directory_transformers_saved_is_read_back(transformers, roberta, tmp_path):
  save_processor(Processor(roberta, EntityVocab(LITE)), tmp_path / "ours")
  transformers.AutoTokenizer.from_pretrained(tmp_path / "ours").save_pretrained(tmp_path / "theirs")
  again = load_processor(tmp_path / "theirs")
  assert again.tokenizer.special == roberta.special
  assert again.entity_vocab.ids == LITE
  text = "Los Angeles [MASK] 東京"
  assert again.tokenizer.encode([text]) == roberta.encode([text])
