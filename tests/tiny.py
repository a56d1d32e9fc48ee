"""Small models with a text side, for the tests of what people do with models."""

from pathlib import Path

import jax
import numpy as np
from networks import network
from networks import tiny as tiny_sizes

from luke_jax.model import Model
from luke_jax.models.network import abstract_params
from luke_jax.text import EntityVocab, Processor, load_tokenizer

LABELS = ("person", "place", "work")
TEXTS = Path(__file__).parent / "goldens" / "text"
TITLES = ("[PAD]", "[UNK]", "[MASK]", "[MASK2]", "Los Angeles", "Beyoncé", "Tokyo")


def tiny_processor(kind: str = "byte_level") -> Processor:
  """Real tokenizers over a few hundred pieces."""
  vocab = EntityVocab({title: i for i, title in enumerate(TITLES)})
  return Processor(load_tokenizer(TEXTS / kind), vocab, max_length=64)


def tiny_model(
  architecture: str = "LukeForMaskedLM", *, text: bool = True, bias: bool = False, **fields
) -> Model:
  """Random everywhere, biases and norms too, so that no array can stand in for another."""
  processor = tiny_processor() if text else None
  if processor:
    sizes = (processor.tokenizer.vocab_size, len(processor.entity_vocab))
    fields = dict(zip(("vocab_size", "entity_vocab_size"), sizes, strict=True)) | fields
  made = network(architecture, tiny_sizes(**fields), labels=len(LABELS), bias=bias)
  rng = np.random.default_rng(0)
  params = jax.tree.map(
    lambda x: 0.1 * rng.normal(size=x.shape).astype(np.float32), abstract_params(made)
  )
  labels = LABELS if hasattr(made.head, "labels") else ()
  tokenizer = processor.tokenizer if processor else None
  return Model(made, params, labels, tokenizer, processor)


def same_params(one: dict, other: dict) -> bool:
  """Whether two trees have the same paths and the same bits."""
  equal = jax.tree.map(lambda a, b: np.asarray(a).tobytes() == np.asarray(b).tobytes(), one, other)
  return jax.tree.all(equal)
