"""What `python -m benchmarks ner` times, and on what."""

import dataclasses
import json
from importlib.util import find_spec

import numpy as np
import pytest
from tiny import TEXTS, tiny_processor

from benchmarks.__main__ import main
from benchmarks.ner import (
  LABELS,
  LONGEST,
  PREDICTED,
  TASK,
  best_spans,
  check_same,
  entities_of,
  made_up_documents,
  random_model,
  spans_of,
)
from luke_jax.errors import InputError
from luke_jax.tasks.running import fitted

pytestmark = pytest.mark.slow  # beside the library

NEEDS_TRANSFORMERS = pytest.mark.skipif(not find_spec("transformers"), reason="needs transformers")


@pytest.fixture(scope="module")
def documents():
  return made_up_documents(tiny_processor().tokenizer, 3)


def test_documents_are_made_of_the_vocabulary(documents):
  tokenizer = tiny_processor().tokenizer
  assert documents == made_up_documents(tokenizer, 3)
  for document in documents:
    assert 200 <= len(document.words) <= 401  # a last sentence has two words at least
    assert max(map(len, document.sentences)) <= LONGEST
    for words in document.sentences:
      assert document.text[slice(*words[-1])] == "."
  for tokens in tokenizer.encode([document.text for document in documents]):
    assert tokenizer.special.unknown not in tokens.ids


def test_both_sides_have_the_same_spans(documents):
  """In the same order, each sentence's in one row."""
  rows = TASK.features(fitted(TASK, tiny_processor()), documents)
  sentences = [words for document in documents for words in document.sentences]
  assert len(rows) == len(sentences)
  for row, words in zip(rows, sentences, strict=True):
    document = documents[row.example]
    spans = [
      (document.words[first][0] - words[0][0], document.words[last - 1][1] - words[0][0])
      for first, last in row.source
    ]
    assert spans == spans_of(words)


def test_a_random_model_finds_some(documents):
  two = [dataclasses.replace(documents[0], sentences=documents[0].sentences[:2])]
  model = random_model(tiny_processor().tokenizer, "tiny", two)
  found = entities_of(model, two)
  spans = sum(len(spans_of(words)) for words in two[0].sentences)
  assert 0 < len(found) <= PREDICTED * spans + 1


def test_the_best_of_overlapping_spans_stay():
  spans = [(0, 3), (0, 7), (4, 7), (8, 9), (8, 12)]
  logits = np.zeros((5, len(LABELS)))
  logits[range(5), [1, 2, 3, 0, 4]] = [3, 5, 4, 9, 1]
  assert list(best_spans(spans, logits)) == [(0, 7, LABELS[2]), (8, 12, LABELS[4])]


def test_different_entities_are_not_timed():
  ours = {(0, 0, 3, "LOC"), (0, 4, 7, "PER")}
  check_same(ours, set(ours))
  with pytest.raises(InputError, match="2 entities are predicted by one side only, 1 by both"):
    check_same(ours, {(0, 0, 3, "LOC"), (0, 4, 7, "ORG")})


@pytest.mark.parity
@NEEDS_TRANSFORMERS
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_run(dtype, tmp_path, capsys):
  options = ["--size", "tiny", "--dtype", dtype, "--documents", 1, "--rounds", 1]
  options += ["--output", tmp_path / "out.json"]
  assert main(["ner", *map(str, [TEXTS / "byte_level", *options])]) == 0
  summary = json.loads(capsys.readouterr().out.splitlines()[-1])
  figures = json.loads((tmp_path / "out.json").read_text())
  assert summary == {name: figures[name] for name in summary}
  assert summary["ratio"] > 0
  assert figures["entities"] > 0 and (figures["different"] == 0 or dtype == "bfloat16")
  assert 200 <= figures["words"] <= 401


@pytest.mark.parity
@NEEDS_TRANSFORMERS
def test_what_cannot_be_timed(capsys):
  for arguments, message in (
    ([TEXTS / "byte_level", "--rounds", 0], "rounds: 0; expected 1 or more"),
    ([TEXTS / "byte_level", "--documents", 0], "documents: 0; expected 1 or more"),
    ([TEXTS / "byte_level", "--size", "huge"], "huge: unknown size; expected one of luke-base"),
    ([TEXTS], "no tokenizer; expected vocab.json"),
  ):
    assert main(["ner", *map(str, arguments)]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1
