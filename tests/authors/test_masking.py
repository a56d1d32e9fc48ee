"""Whole words in pretraining with `authors` are those of the authors' code."""

import base64

import numpy as np
import pytest
from authors.recorded import unequal

from luke_jax.pipeline.rows import MaskIds, Masking, words_of_pieces

pytestmark = pytest.mark.real_data


def test_which_ids_open_a_word(cases, tokenizer):
  header, _ = cases("masking_groups")
  bits = np.frombuffer(base64.b64decode(header["settings"]["opens_word_base64"]), np.uint8)
  expected = np.unpackbits(bits)[: tokenizer.vocab_size].astype(bool)
  np.testing.assert_array_equal(tokenizer.word_starts(as_spelt=True), expected)
  assert (tokenizer.word_starts() != expected).sum() == 78  # dashes, ellipses, bullets, ...


def test_whole_words(cases, tokenizer):
  _, recorded = cases("masking_groups")
  ids = MaskIds(
    tokenizer.special.mask, 2, tokenizer.vocab_size, tokenizer.word_starts(as_spelt=True)
  )

  def equal(case):
    groups = words_of_pieces(np.array(case["ids"]), Masking(), ids)
    return np.bincount(groups).tolist() == case["groups"]

  assert unequal(recorded, equal) == []
