"""Language models of words and entities, in JAX and Flax for TPUs.

model = luke_jax.load("DIRECTORY")
model.predict("Ana lives in Paris.")
model, scores, _ = luke_jax.fine_tune("ner", model, train="train.conll", dev="dev.conll")
model.save("ANOTHER")
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
  from luke_jax import show
  from luke_jax.model import Model, load
  from luke_jax.runs.training import Trained, fine_tune, train
  from luke_jax.training.experiment import Experiment

__all__ = ["Experiment", "Model", "Trained", "fine_tune", "load", "show", "train"]
__version__ = "0.1.0"

_ROOMS = {
  "Experiment": "training.experiment",
  "Model": "model",
  "Trained": "runs.training",
  "fine_tune": "runs.training",
  "load": "model",
  "train": "runs.training",
}


def __getattr__(name: str) -> Any:
  """Imports JAX only when something that needs it is used."""
  if name not in __all__:
    raise AttributeError(f"module 'luke_jax' has no attribute {name!r}")
  if name == "show":
    return importlib.import_module("luke_jax.show")
  return getattr(importlib.import_module(f"luke_jax.{_ROOMS[name]}"), name)


def __dir__() -> list[str]:
  """Lists what people use, for tab completion."""
  return [*__all__, "__version__"]
