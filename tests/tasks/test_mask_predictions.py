"""Masks in the spelling of each vocabulary; whole models are in tests/cli/test_predict_masks.py."""

import numpy as np
import pytest
from tiny import TEXTS, TITLES

from luke_jax.tasks.mask_predictions import predict_masks
from luke_jax.text import EntityVocab, Processor, load_tokenizer


@pytest.mark.parametrize(
  ("kind", "text"),
  [
    ("word_piece", "Tokyo is the [MASK] of Japan"),
    ("byte_level", "Tokyo is the [MASK] of Japan"),
    ("byte_level", "Tokyo is the <mask> of Japan"),
  ],
)
def test_the_mask_of_a_vocabulary(kind, text):
  tokenizer = load_tokenizer(TEXTS / kind)
  vocab = EntityVocab({title: i for i, title in enumerate(TITLES)})
  best = tokenizer.encode([" river"])[0].ids[-1]

  def forward(input_ids, **_):
    assert (input_ids == tokenizer.special.mask).sum() == 1
    logits = np.zeros((*input_ids.shape, tokenizer.vocab_size))
    logits[..., best] = 9
    return {"logits": logits}

  (prediction,) = predict_masks(forward, Processor(tokenizer, vocab), text, top=1)
  assert prediction.characters == (13, 19)
  assert prediction.guesses[0].name == tokenizer.decode([best]).strip()
