"""Small models with a text side, for the tests of what people do with models."""

import dataclasses
from pathlib import Path

import jax
import numpy as np

from luke_jax.config import SIZES
from luke_jax.convert import Model
from luke_jax.models.luke import ARCHITECTURES, abstract_params
from luke_jax.text import EntityVocab, LukeProcessor, load_tokenizer

LABELS = ("person", "place", "work")
TEXTS = Path(__file__).parent / "goldens" / "text"
TITLES = ("[PAD]", "[UNK]", "[MASK]", "[MASK2]", "Los Angeles", "Beyoncé", "Tokyo")


def tiny_processor(kind: str = "byte_level") -> LukeProcessor:
  """Real tokenizers over a few hundred pieces."""
  vocab = EntityVocab({title: i for i, title in enumerate(TITLES)})
  return LukeProcessor(load_tokenizer(TEXTS / kind), vocab, max_length=64)


def tiny_model(architecture: str = "LukeForMaskedLM", *, text: bool = True, **fields) -> Model:
  """Random everywhere, biases and norms too, so that no array can stand in for another."""
  processor = tiny_processor() if text else None
  if processor:
    sizes = (processor.tokenizer.vocab_size, len(processor.entity_vocab))
    fields = dict(zip(("vocab_size", "entity_vocab_size"), sizes, strict=True)) | fields
  if architecture != "LukeForQuestionAnswering":
    fields["num_labels"] = len(LABELS)
  module = ARCHITECTURES[architecture](dataclasses.replace(SIZES["tiny"], **fields))
  rng = np.random.default_rng(0)
  params = jax.tree.map(
    lambda x: 0.1 * rng.normal(size=x.shape).astype(np.float32), abstract_params(module)
  )
  labels = LABELS if architecture != "LukeForQuestionAnswering" else ()
  tokenizer = processor.tokenizer if processor else None
  return Model(module, params, labels, tokenizer, processor)


def same_params(one: dict, other: dict) -> bool:
  """Whether two trees have the same paths and the same bits."""
  equal = jax.tree.map(lambda a, b: np.asarray(a).tobytes() == np.asarray(b).tobytes(), one, other)
  return jax.tree.all(equal)
