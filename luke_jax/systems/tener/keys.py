"""Parameters of a TENER and the names of their tensors, which are this package's own."""

from collections.abc import Iterator

from luke_jax.models.keys import Key, Keys, layers, linear, table
from luke_jax.systems.tener.fastnlp import FASTNLP


def _layer(path: str, name: str) -> Iterator[Key]:
  """Yields the keys of a layer under a name of its own, with either form of attention."""
  for key in layers(path, "LAYERS"):
    names = tuple(pattern.replace("LAYERS.{layer}", name) for pattern in key.names)
    yield Key(key.path, names, key.kernel_inputs, key.by_kind)
  attention = f"{name}.attention.self"
  yield Key(f"{path}/attention/queries/kernel", (f"{attention}.query.weight",), 1)
  for part in ("for_keys", "for_distances"):
    yield Key(f"{path}/attention/{part}", (f"{attention}.{part}",))


def _rows() -> Iterator[Key]:
  yield from table("tener/word", "tener.word_embeddings")
  yield from table("tener/bigram", "tener.bigram_embeddings")
  yield from table("tener/characters/character", "tener.character_embeddings")
  yield from linear("tener/characters/convolution/kernel_of_3", "tener.characters.convolution")
  yield from linear("tener/characters/output", "tener.characters.output")
  for name in ("shares", "factor"):
    yield Key(f"tener/mixture/{name}", (f"tener.mixture.{name}",))
  yield from linear("tener/input", "tener.input")
  yield from linear("classifier", "classifier")
  yield from _layer("tener/encoder/layers", "tener.encoder.layer.{layer}")
  yield from _layer("tener/characters/layer", "tener.characters.layer")


KEYS = Keys.of(_rows(), other_names=(FASTNLP,))
"""The table of all forms of a TENER."""
