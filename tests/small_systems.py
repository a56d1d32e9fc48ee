"""Small sizes of every system, for tests of what all of them promise."""

import dataclasses
from typing import Any

from luke_jax.models.system import System
from luke_jax.models.table import systems
from luke_jax.systems.bert import CamembertConfig

# A CamemBERT is RoBERTa's code under another name: one of the two is enough for costly proofs.
DISTINCT = tuple(system for system in systems() if system is not CamembertConfig)

WORDS, ENTITIES = 101, 53  # no other size of the small configs, nor sums of theirs
_SMALL = {
  "vocab_size": WORDS,
  "entity_vocab_size": ENTITIES,
  "hidden_size": 32,
  "entity_emb_size": 16,
  "embedding_size": 16,
  "num_hidden_layers": 2,
  "num_attention_heads": 2,
  "intermediate_size": 64,
  "max_position_embeddings": 24,
  "entity_size": 12,
  "num_entity_heads": 2,
}


def small(system: System, **fields: Any) -> Any:
  """The config of a small model of a system; fields that its configs do not have are left out."""
  known = {field.name for field in dataclasses.fields(system)}
  return system(**{name: x for name, x in (_SMALL | fields).items() if name in known})
