"""Looked-up words give the ids that the tokenizer gives."""

import copy
import json
import shutil
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from luke_jax.text import load_tokenizer
from luke_jax.text.byte_level import ByteLevelTokenizer
from luke_jax.wiki.stages import packing
from luke_jax.wiki.stages.packing import SegmentEncoder

WORDS = st.text(min_size=1, max_size=12).map(lambda text: "".join(text.split()) or "x")
TEXTS = st.lists(WORDS, min_size=1, max_size=6).map(" ".join)


def encoded(encoder, segments):
  """The ids of each segment."""
  return [np.frombuffer(ids, "<i4").tolist() for ids in encoder.encode(segments)]


def plain(tokenizer, text):
  return tokenizer.encode([text])[0].ids


@given(texts=st.lists(TEXTS, max_size=5))
def test_a_segment_after_a_space_is_what_the_tokenizer_makes_of_it(texts, tokenizer):
  found = encoded(SegmentEncoder(tokenizer), [f" {text}" for text in texts])
  for text, ids in zip(texts, found, strict=True):
    if not any(special in text for special in tokenizer.special.ids):
      assert ids == plain(tokenizer, f" {text}")


@given(text=TEXTS)
def test_a_segment_inside_a_word_starts_none(text, tokenizers):
  byte_level = load_tokenizer(tokenizers / "byte_level")
  special = any(special in text for special in byte_level.special.ids)
  assert special or encoded(SegmentEncoder(byte_level), [text]) == [plain(byte_level, text)]


def test_a_segment_inside_a_word_of_sentence_pieces(tokenizers):
  tokenizer = load_tokenizer(tokenizers / "sentence_piece")
  inside, outside = encoded(SegmentEncoder(tokenizer), ["bridge", " bridge"])
  decoded = [tokenizer.decode([id]) for id in inside]
  assert "".join(decoded) == "bridge"
  whole = plain(tokenizer, "bridge")
  assert outside == whole != inside
  # An unknown character, which is one piece with another one before it, stays.
  (unknown,) = encoded(SegmentEncoder(tokenizer), ["☃a"])
  assert unknown[0] == tokenizer.special.unknown and len(unknown) == 2


@given(texts=st.lists(TEXTS, max_size=5))
def test_a_segment_of_word_pieces_is_words_by_themselves(texts, tokenizers):
  tokenizer = load_tokenizer(tokenizers / "word_piece")
  found = encoded(SegmentEncoder(tokenizer), [*texts, *(f" {text}" for text in texts)])
  for text, ids in zip([*texts, *texts], found, strict=True):
    if not any(special in text for special in tokenizer.special.ids):
      assert ids == plain(tokenizer, text)


@pytest.mark.parametrize("text", [" a <mask> b", " <s>", "</s>", " x<unk>y<ent><ent2>"])
def test_text_that_spells_a_special_token_stays_text(text, tokenizer):
  (ids,) = encoded(SegmentEncoder(tokenizer), [text])
  special = set(tokenizer.special.ids.values()) - {tokenizer.special.unknown}
  assert not special & set(ids)


def test_it_forgets_when_it_is_full_and_says_the_same(tokenizer, monkeypatch):
  texts = [f" {word} {word}s" for word in ("one", "bridge", "over", "seven", "rivers")]
  whole = encoded(SegmentEncoder(tokenizer), texts)
  monkeypatch.setattr(packing, "_ROOM", 100)
  forgetful = SegmentEncoder(tokenizer)
  assert [encoded(forgetful, [text])[0] for text in texts * 2] == whole * 2
  assert forgetful._size < 2000


@pytest.mark.parametrize("prefixed", [False, True])
def test_a_tokenizer_it_is_given_stays_as_it_was(prefixed, tokenizer):
  tokenizer = copy.copy(tokenizer)
  if isinstance(tokenizer, ByteLevelTokenizer):
    tokenizer.add_prefix_space = prefixed
  texts = ["bridge over <mask>", " the", "", "é \u3000b"]
  state, rows = state_of(tokenizer), tokenizer.encode(texts, offsets=True)
  SegmentEncoder(tokenizer).encode(["bridge", " over <mask>", " the"])
  assert state_of(tokenizer) == state
  assert tokenizer.encode(texts, offsets=True) == rows


def state_of(tokenizer):
  """Everything that a tokenizer holds, with the settings of the library below it."""
  library = tokenizer._library.to_str() if isinstance(tokenizer, ByteLevelTokenizer) else None
  return dict(vars(tokenizer)), library


@pytest.mark.real_data
def test_real_vocabularies_over_squad(real_data, tmp_path):
  squad = json.loads((real_data / "squad/dev-v1.1.json").read_text(encoding="utf-8"))
  texts = [
    " " + " ".join(paragraph["context"].split())
    for article in squad["data"]
    for paragraph in article["paragraphs"]
  ]
  folders = [real_data / "tokenizers/roberta"]
  for model in sorted((real_data / "tokenizers/sentencepiece").glob("*.model")):
    folders.append(tmp_path / model.stem)
    folders[-1].mkdir()
    shutil.copyfile(model, folders[-1] / "sentencepiece.bpe.model")
  for folder in folders:
    tokenizer = load_tokenizer(folder)
    found = encoded(SegmentEncoder(tokenizer), texts)
    pairs = [(ids, row.ids) for ids, row in zip(found, tokenizer.encode(texts), strict=True)]
    # Of ways to cut a word that are equally likely, SentencePiece's rounding picks one.
    assert all(len(ours) == len(theirs) for ours, theirs in pairs)
    assert sum(ours != theirs for ours, theirs in pairs) < 0.005 * len(pairs)


def test_no_segments_and_empty_ones(tokenizer):
  assert encoded(SegmentEncoder(tokenizer), []) == []
  assert encoded(SegmentEncoder(tokenizer), ["", " ", ""]) == [[], [], []]


def test_a_word_of_a_million_brackets_takes_time_by_its_length(tokenizer):
  seconds = []
  for size in (250_000, 1_000_000):
    start = time.process_time()
    (ids,) = encoded(SegmentEncoder(tokenizer), [" " + "([" * size])
    seconds.append(time.process_time() - start)
    assert tokenizer.decode(ids).strip() == "([" * size or tokenizer.special.unknown in ids
  assert seconds[1] < 12 * seconds[0] + 0.5
