"""What `python -m benchmarks text` times, and on what."""

import json
import os
import random
from importlib.util import find_spec

import numpy as np
import pytest
from tiny import TEXTS, tiny_processor

from benchmarks.__main__ import main
from benchmarks.text import SPANS, check_same, made_up, read_texts, spans_in
from benchmarks.timing import one_core
from luke_jax.errors import InputError

NEEDS_TRANSFORMERS = pytest.mark.skipif(not find_spec("transformers"), reason="needs transformers")


def test_texts_are_made_of_the_vocabulary():
  tokenizer = tiny_processor().tokenizer
  texts = made_up(tokenizer)
  assert texts == made_up(tokenizer)
  assert len(set(texts)) > 200
  for tokens in tokenizer.encode(texts[:5]):
    assert tokenizer.special.unknown not in tokens.ids


def test_spans_hold_something():
  text = "  a  bc \t de  "
  spans = spans_in(text, random.Random(0))
  assert len(spans) == SPANS
  for start, end in spans:
    assert 0 <= start < end <= len(text)
    assert text[start:end].strip()


def test_texts_of_a_file(tmp_path):
  path = tmp_path / "texts.txt"
  path.write_text("One.\n\n  \nTwo\u2028half.\n", encoding="utf-8")
  assert read_texts(path) == ["One.", "Two\u2028half."]
  path.write_text("\n")
  with pytest.raises(InputError, match=r"texts\.txt: no text; expected one per line"):
    read_texts(path)


def test_different_inputs_are_not_timed():
  ours = {"input_ids": np.array([[0, 5, 2]]), "entity_ids": np.array([[2]])}
  check_same(ours, dict(ours))
  for theirs in ({**ours, "entity_ids": np.array([[1]])}, {"input_ids": ours["input_ids"]}):
    with pytest.raises(InputError, match="entity_ids: differs from the array of transformers"):
      check_same(ours, theirs)


def test_one_core_and_then_all_again(monkeypatch):
  monkeypatch.setenv("TOKENIZERS_PARALLELISM", "true")
  cores = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
  with one_core():
    assert os.environ["TOKENIZERS_PARALLELISM"] == "false"
    assert cores is None or len(os.sched_getaffinity(0)) == 1
  assert os.environ["TOKENIZERS_PARALLELISM"] == "true"
  assert cores is None or os.sched_getaffinity(0) == cores


@pytest.mark.parity
@NEEDS_TRANSFORMERS
def test_a_run(tmp_path, capsys):
  (tmp_path / "texts.txt").write_text("Beyoncé lives in Los Angeles.\nTokyo is far.\n" * 20)
  options = ["--texts", tmp_path / "texts.txt", "--rounds", 1, "--output", tmp_path / "out.json"]
  assert main(["text", *map(str, [TEXTS / "byte_level", *options])]) == 0
  summary = json.loads(capsys.readouterr().out.splitlines()[-1])
  figures = json.loads((tmp_path / "out.json").read_text())
  assert summary == {name: figures[name] for name in summary}
  assert summary["ratio"] > 0
  assert figures["texts"] == 40
  assert "transformers" in figures["versions"]


@pytest.mark.parity
@NEEDS_TRANSFORMERS
def test_what_cannot_be_timed(capsys):
  for arguments, message in (
    ([TEXTS / "sentence_piece"], "a SentencePiece model; expected vocab.json and merges.txt"),
    ([TEXTS / "byte_level", "--rounds", 0], "rounds: 0; expected 1 or more"),
    ([TEXTS], "no tokenizer; expected vocab.json"),
    ([TEXTS / "byte_level", "--texts", "nowhere.txt"], "nowhere.txt: no such file"),
  ):
    assert main(["text", *map(str, arguments)]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1
