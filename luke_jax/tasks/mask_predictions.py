"""Predictions of a pretrained model for masked words and marked entities."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np

from luke_jax.errors import InputError
from luke_jax.models.config_files import check_finite
from luke_jax.text import Processor, TextInput
from luke_jax.text.tokenizer import Bounds

ALSO_MASK = "[MASK]"  # BERT's; as long as <mask>, so that characters keep their places


class Guess(NamedTuple):
  """A word, or an entity by its titles, and how probable it is."""

  name: str
  probability: float


class MaskPrediction(NamedTuple):
  """The best guesses for one mask, the most probable first."""

  kind: Literal["word", "entity"]
  characters: Bounds  # in the text
  guesses: tuple[Guess, ...]


def predict_masks(
  forward: Callable[..., Mapping[str, Any]],
  processor: Processor,
  text: str,
  *,
  spans: Sequence[Bounds] = (),
  top: int = 5,
) -> list[MaskPrediction]:
  """Returns the best words for each mask of a text and the best entities for its spans.

  A mask is spelt `[MASK]` or as the vocabulary spells it, `<mask>` in RoBERTa's. `forward` gives
  the logits of masked tokens for the processor's inputs.
  """
  if top < 1:
    raise InputError(f"top: {top}; expected 1 or more")
  special = processor.tokenizer.special
  text = text.replace(ALSO_MASK, special.roles.mask)
  if special.roles.mask not in text and not spans:
    raise InputError(f"text: no {ALSO_MASK} and no span; expected something to predict")
  (row,) = processor.encode([TextInput(text, entity_spans=spans or None)], offsets=True)
  outputs = forward(**processor.pad([row]))
  predictions = []
  for place, id in enumerate(row.input_ids):
    if id == special.mask:
      guesses = _guesses(outputs["logits"][0, place], top, partial(_word, processor))
      predictions.append(MaskPrediction("word", row.offsets[place], guesses))
  for number, entity in enumerate(row.entities or ()):
    guesses = _guesses(outputs["entity_logits"][0, number], top, partial(_titles, processor))
    predictions.append(MaskPrediction("entity", entity.characters, guesses))
  return predictions


def _guesses(logits: object, top: int, name: Callable[[int], str]) -> tuple[Guess, ...]:
  scores = np.asarray(logits, np.float64)
  check_finite("logits", scores)
  shares = np.exp(scores - scores.max())
  best = np.argsort(-scores, kind="stable")[:top]
  return tuple(Guess(name(int(id)), float(shares[id] / shares.sum())) for id in best)


def _word(processor: Processor, id: int) -> str:
  word = processor.tokenizer.decode([id])
  return word.strip() or repr(word)


def _titles(processor: Processor, id: int) -> str:
  """Returns the title of an entity, or each one with its language if there are several."""
  titles = processor.entity_vocab.titles(id)
  return ", ".join(title if code is None else f"{code}:{title}" for title, code in titles)
