"""Fields of config files that change what is computed, where this package computes it one way only.

A file may leave such a field out, or have the value of the table; another one is refused. Fields by
which only speed or memory changes, such as chunk_size_feed_forward, are in no table.
"""

import json
from collections.abc import Mapping
from typing import Any

from luke_jax.errors import InputError

Fixed = Mapping[str, Any]

# Those that an encoder has not.
OF_DECODERS: Fixed = {"is_decoder": False, "add_cross_attention": False}
# Of transformers, in any of its versions.
OF_TRANSFORMERS: Fixed = {
  **OF_DECODERS,
  "is_encoder_decoder": False,
  "position_embedding_type": "absolute",
  "pruned_heads": {},
  "per_layer_config": {},
  "quantization_config": {},
}
# Of transformers' and PaddleNLP's ERNIE; with tasks it is an ERNIE 2 or 3.
OF_ERNIE: Fixed = {**OF_TRANSFORMERS, "use_task_id": False, "pool_act": "tanh"}
# TENER has transformers' form of a file only.
OF_TENER: Fixed = {**OF_TRANSFORMERS, "hidden_act": "relu"}

_NOTES = {
  "is_decoder": "; as_encoder=True of luke_jax.load reads a decoder as an encoder",
  "add_cross_attention": "; as_encoder=True of luke_jax.load reads a decoder as an encoder",
  "use_task_id": "; an ERNIE 2 or 3 has another value, an ERNIE 1.0 this one",
}


def check_fixed(fields: Mapping[str, Any], fixed: Fixed, place: str) -> None:
  """Raises InputError for a field with another value than the one that is computed with here.

  `place` is written before its name.
  """
  for name, computed in fixed.items():
    value = fields.get(name)
    if value is not None and value != computed:
      expected = f"{json.dumps(computed)}, as this system is computed here{_NOTES.get(name, '')}"
      raise InputError(f"{place}{name}: {json.dumps(value):.40}; expected {expected}")
