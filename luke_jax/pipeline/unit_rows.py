"""Texts of masked units as arrays: padded words and their targets."""

import numpy as np

from luke_jax.nn.losses import IGNORED
from luke_jax.pipeline.masking import Masked
from luke_jax.pipeline.unit_masking import Texts


def unit_arrays(
  texts: Texts, masked: Masked, pad: int, *, words: int, slots: int
) -> dict[str, np.ndarray]:
  """Returns the words (B, W), padded, and the masked ones (B, P), of which each text has a few."""
  shape, targets = (len(texts.lengths), words), (len(texts.lengths), slots)
  ids, types = np.full(shape, pad, np.int32), np.zeros(shape, np.int32)
  positions, labels = np.zeros(targets, np.int32), np.full(targets, IGNORED, np.int32)
  inside = np.arange(words) < texts.lengths[:, None]
  ids[inside], types[inside] = masked.ids, texts.types
  ends = np.cumsum(texts.lengths)
  text = np.searchsorted(ends, masked.places, side="right")
  used = np.arange(slots) < np.bincount(text, minlength=len(ends))[:, None]
  positions[used] = masked.places - (ends - texts.lengths)[text]
  labels[used] = texts.ids[masked.places]
  return {
    "input_ids": ids,
    "attention_mask": inside.astype(np.int32),
    "token_type_ids": types,
    "masked_positions": positions,
    "labels": labels,
  }
