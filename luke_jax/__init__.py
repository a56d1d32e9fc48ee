"""Language models of words and entities, in JAX and Flax for TPUs.

model = luke_jax.load("english/ner")   a model in the box, of a directory, or hf://owner/name
model.predict("Ana lives in Paris.")
model, scores, _ = luke_jax.fine_tune("ner", "english", train="train.conll", dev="dev.conll")
model.save("ANOTHER")

load        reads a model          fine_tune   trains one for a task, on your examples
Model       what `load` returns    train       trains an Experiment, a value or a file
Trained     what these return      show        pictures of texts, predictions and runs

embed       vectors of texts and of names in them

All other names are internal, and may change.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
  from luke_jax import show
  from luke_jax.inference.text_vectors import embed
  from luke_jax.model import Model, load
  from luke_jax.runs.training import Trained, fine_tune, train
  from luke_jax.training.experiment import Experiment

__all__ = ["Experiment", "Model", "Trained", "embed", "fine_tune", "load", "show", "train"]
__version__ = "0.2.0"

_ROOMS = {"Experiment": "training.experiment", "Model": "model", "Trained": "runs.training"}
_ROOMS |= {
  "embed": "inference.text_vectors",
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
