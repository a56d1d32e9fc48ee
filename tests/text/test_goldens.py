"""Equality with transformers 4.57, as recorded by make_goldens.py."""

from dataclasses import replace

import pytest

from luke_jax.text import EntityVocab, Processor, load_tokenizer
from luke_jax.text.byte_level import ByteLevelTokenizer
from luke_jax.text.text_inputs import text_inputs


@pytest.fixture(scope="module")
def processors(goldens, tiny_directories):
  vocabs = goldens["entity_vocabs"]
  width = {"max_mention_length": goldens["max_mention_length"]}
  mono = EntityVocab(vocabs["byte_level"])
  multi = EntityVocab(vocabs["sentence_piece"], multilingual=True)
  byte_level = load_tokenizer(tiny_directories["byte_level"])
  assert isinstance(byte_level, ByteLevelTokenizer)
  prefixing = byte_level.with_prefix(True, whole_texts=True)
  sentence_piece = load_tokenizer(tiny_directories["sentence_piece"])
  return {
    ("byte_level", False): Processor(byte_level, mono, **width),
    ("byte_level", True): Processor(prefixing, mono, **width),
    ("sentence_piece", False): Processor(sentence_piece, multi, **width),
  }


def spans_as_tuples(given):
  def tuples(value):
    if value and isinstance(value, list) and isinstance(value[0], int):
      return tuple(value)
    return [tuples(part) for part in value] if isinstance(value, list) else value

  return {name: tuples(value) for name, value in given.items()}


def test_single_texts(goldens, processors):
  checked = 0
  for kind, prefix, task, given, expected in goldens["records"]:
    if isinstance(given["text"], str):
      inputs = replace(processors[kind, prefix], task=task)(**spans_as_tuples(given))
      assert {name: array[0].tolist() for name, array in inputs.items()} == expected, given
      checked += 1
  assert checked > 150


def test_batches_padded_and_truncated(goldens, processors):
  checked = 0
  for kind, prefix, task, given, expected in goldens["records"]:
    if isinstance(given["text"], list):
      given = spans_as_tuples(given)
      processor = replace(processors[kind, prefix], task=task)
      limits = {name: given.pop(name) for name in list(given) if name.startswith("max_")}
      truncation = given.pop("truncation", False)
      padding = given.pop("padding", False)
      processor = replace(processor, **limits)
      rows = processor.encode(text_inputs(**given), truncation=truncation)
      inputs = processor.pad(rows)
      if padding:
        assert {name: array.tolist() for name, array in inputs.items()} == expected
      else:
        assert [row.input_ids.tolist() for row in rows] == expected["input_ids"]
        assert [[e.id for e in row.entities] for row in rows] == expected["entity_ids"]
        for positions, theirs in zip(
          inputs["entity_position_ids"], expected["entity_position_ids"], strict=True
        ):
          assert positions[: len(theirs)].tolist() == theirs
      checked += 1
  assert checked == 8
