"""Small sizes of every system, for tests of what all of them promise."""

import dataclasses
from typing import Any

import jax
import numpy as np
from networks import network

from luke_jax.heads.kinds import class_names
from luke_jax.model import Model
from luke_jax.models.network import abstract_params
from luke_jax.models.system import System
from luke_jax.models.table import systems
from luke_jax.systems.bert import CamembertConfig

# A CamemBERT is RoBERTa's code under another name: one of the two is enough for costly proofs.
DISTINCT = tuple(system for system in systems() if system is not CamembertConfig)
# A GLiNER is read, and neither trained nor exported.
TRAINED = tuple(system for system in DISTINCT if system.name != "gliner")

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
  "position_buckets": 8,
  "entity_size": 12,
  "num_entity_heads": 2,
}


def small(system: System, **fields: Any) -> Any:
  """The config of a small model of a system; fields that its configs do not have are left out."""
  known = {field.name for field in dataclasses.fields(system)}
  return system(**{name: x for name, x in (_SMALL | fields).items() if name in known})


# Heads that have a program beside their weights; that of a linker has a fixed number of names, and
# what matches labels is saved with a model that reads those.
OF_WORDS = (
  "albert",
  "mpnet",
  "modernbert",
  "deberta",
)  # their heads of entities read words as BERT's do
WITH_PROGRAM = [
  (system, kind)
  for system in TRAINED
  for kind in class_names(system)
  if kind not in ("linking", "match")
  and (system.name not in OF_WORDS or kind in ("none", "masked", "text", "token", "answer"))
]


def drawn(system: System, kind: str, **fields: Any) -> Model:
  """A small model of a system with a head of a kind, whose parameters are random."""
  made = network(class_names(system)[kind], small(system, **fields), labels=3)
  rng = np.random.default_rng(0)
  shapes = abstract_params(made)
  return Model(
    made, jax.tree.map(lambda x: 0.1 * rng.normal(size=x.shape).astype(np.float32), shapes)
  )
