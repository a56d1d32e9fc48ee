"""LUKE, the entity-aware language model, in JAX and Flax for TPUs.

model = luke_jax.load("DIRECTORY")
inputs = model.processor("Ana lives in Paris.", entity_spans=[(0, 3), (13, 18)])
outputs = model(**inputs)
model.save("ANOTHER")
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
  from luke_jax import show
  from luke_jax.model import Model, load

__all__ = ["Model", "load", "show"]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
  """Brings in JAX when something that needs it is first asked for."""
  if name not in __all__:
    raise AttributeError(f"module 'luke_jax' has no attribute {name!r}")
  if name == "show":
    return importlib.import_module("luke_jax.show")
  return getattr(importlib.import_module("luke_jax.model"), name)
