"""Vocabularies of whole words, what stands beside a word, and files of vectors."""

import json
import re

import numpy as np
import pytest

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.pipeline.metadata import tokenizer_hash
from luke_jax.text import load_tokenizer, save_tokenizer
from luke_jax.text.whole_words import (
  NONE,
  PLAIN,
  SPECIAL,
  Vocabularies,
  WholeWordTokenizer,
  read_sentence_vectors,
  read_word_vectors,
)

VOCABULARIES = Vocabularies(
  (*SPECIAL, "Rome", "in", "0000"), (*PLAIN, "R", "o", "0"), (*PLAIN, "inRome", "Rome\n"), True
)
TOKENIZER = WholeWordTokenizer(VOCABULARIES)


def test_words_and_their_lower_case():
  (tokens,) = TOKENIZER.encode(["  In Rome, Rome 1984 [MASK]"], offsets=True)
  assert tokens.ids == [6, 1, 5, 7, 4]
  assert tokens.offsets == [(2, 4), (5, 10), (11, 15), (16, 20), (21, 27)]
  assert TOKENIZER.units("  In Rome, Rome 1984 [MASK]") == ["In", "Rome,", "Rome", "1984", "[MASK]"]
  assert TOKENIZER.decode([2, 6, 5, 3]) == "[CLS] in Rome [SEP]"
  assert (TOKENIZER.piece_id("Rome"), TOKENIZER.piece_id("rome")) == (5, 1)


def test_what_stands_beside_words():
  arrays = TOKENIZER.beside(["in", "Rome", "19"])
  assert arrays["bigram_ids"].tolist() == [0, 2, 1, 1, 0]
  assert TOKENIZER.beside(["Rome"])["bigram_ids"].tolist() == [0, 3, 0]
  characters = arrays["character_ids"]
  assert characters.shape == (5, 30) and not characters[[0, -1]].any()
  assert [line[line > 0].tolist() for line in characters[1:4]] == [[1, 1], [2, 3, 1, 1], [4, 4]]
  assert len(TOKENIZER.beside(["o" * 99])["character_ids"][1].nonzero()[0]) == 30
  assert WholeWordTokenizer(Vocabularies(SPECIAL)).beside(["a"]) == {}


def test_files_read_back_equal(tmp_path):
  save_tokenizer(TOKENIZER, tmp_path / "one")
  again = load_tokenizer(tmp_path / "one")
  assert again.vocabularies == VOCABULARIES and again.special == TOKENIZER.special
  assert tokenizer_hash(again) == tokenizer_hash(tmp_path / "one")
  other = WholeWordTokenizer(Vocabularies((*SPECIAL, "in", "Rome", "0000")))
  assert tokenizer_hash(other) != tokenizer_hash(again)


@pytest.mark.parametrize(
  ("value", "message"),
  [
    ({}, "; expected the vocabularies words, characters, bigrams, digits_as_zero"),
    ({"words": ["a"]}, "words: begin otherwise; expected [PAD], [UNK], [CLS], [SEP], [MASK] first"),
    ({"words": [*SPECIAL, "a", "a"]}, "words: an entry twice; expected each once"),
    ({"words": "abc"}, "words: no list of strings; expected one"),
    ({"words": [*SPECIAL], "bigrams": [*PLAIN, 7]}, "bigrams: no list of strings; expected one"),
    ({"words": [*SPECIAL], "digits_as_zero": 1}, "digits_as_zero: 1; expected true or false"),
  ],
)
def test_files_that_are_no_vocabulary(tmp_path, value, message):
  (tmp_path / "words.json").write_text(json.dumps(value))
  with pytest.raises(InputError, match=re.escape(message)):
    load_tokenizer(tmp_path)


def test_vectors_in_text(tmp_path):
  path = tmp_path / "vectors.txt"
  path.write_text("Rome 1 2\n. . 3 -4e-1\nRome 9 9\nelse 5 6\n", encoding="utf-8")
  found = read_word_vectors(path, {"Rome", ". .", "missing"})
  assert {word: x.tolist() for word, x in found.items()} == {
    "Rome": [1, 2],
    ". .": [3, np.float32(-0.4)],
  }
  path.write_text("2 3\nRome 1 2 3\nin 4 5 6 \n", encoding="utf-8")  # of word2vec
  assert read_word_vectors(path, {"in", "2"})["in"].tolist() == [4, 5, 6]


@pytest.mark.parametrize(
  ("text", "message"),
  [
    ("", "empty; expected a word and its numbers on each line"),
    ("Rome 1 2\nin 4\n", "line 2: 1 numbers after a word; expected 2"),
    ("Rome 1 x\n", "line 1: '1 x'; expected numbers"),
    ("Rome 1 nan\n", "line 1: a number that is not finite; expected finite ones"),
  ],
)
def test_text_that_is_no_vectors(tmp_path, text, message):
  path = tmp_path / "vectors.txt"
  path.write_text(text, encoding="utf-8")
  with pytest.raises(InputError, match=re.escape(message)):
    read_word_vectors(path, {"Rome", "in"})


def test_vectors_of_sentences(tmp_path):
  (tmp_path / "sentences.txt").write_text("in Rome\nRome\n\nin Rome\n", encoding="utf-8")
  np.save(tmp_path / "vectors.npy", np.arange(20, dtype=np.float16).reshape(5, 2, 2))
  vectors = read_sentence_vectors(tmp_path)
  assert vectors.shape == (2, 2)
  assert vectors.rows(["in", "Rome"], "a place").tolist() == [0, 1]
  rows = np.append(vectors.rows(["Rome"], "a place"), NONE)
  assert vectors[rows].tolist() == [[[8, 9], [10, 11]], [[0, 0], [0, 0]]]
  with pytest.raises(InputError, match="a place: no vectors of the sentence 'to Rome' in"):
    vectors.rows(["to", "Rome"], "a place")
  np.save(tmp_path / "vectors.npy", np.zeros((4, 2)))
  with pytest.raises(InputError, match=re.escape("float64 of shape (4, 2); expected floating")):
    read_sentence_vectors(Path(tmp_path))
