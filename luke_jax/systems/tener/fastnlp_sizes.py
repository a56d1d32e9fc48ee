"""Sizes of a TENER from the tensors of its authors' files, and the forms that these have."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from luke_jax.errors import InputError
from luke_jax.models.names import Readers
from luke_jax.systems.tener.config import ARCHITECTURES, TenerConfig

_DISTANCES = {"rel_sign": -1, "freq": "tener"}  # in the code of both years
_DEFAULTS = dataclasses.asdict(TenerConfig())


def check_distances(fields: Mapping[str, Any]) -> None:
  """Raises InputError for a form of attention by distance that the authors' code has not."""
  fields = {**_DEFAULTS, **fields}
  read = [fields["encoder"], fields["character_vocab_size"] and fields["character_encoder"]]
  if "adatrans" not in read:
    return
  expected = {**_DISTANCES, "e_term": fields["use_k_proj"]}
  for name, value in expected.items():
    if fields[name] != value:
      raise InputError(f"{name}: {fields[name]!r}; expected {value!r}, as in the authors' code")


def check_writable(config: TenerConfig) -> None:
  """Raises InputError for a model that the authors' code cannot compute."""
  check_distances(dataclasses.asdict(config))
  if config.vector_size:
    raise InputError(f"vector_size: {config.vector_size}; expected 0 for the authors' names")
  if config.character_vocab_size and config.character_encoder == "transformer":
    raise InputError("character_encoder: 'transformer'; expected one that the authors' code has")


def sizes(raw: Mapping[str, Any], tensors: Readers) -> dict[str, Any]:
  """Returns all entries of a config.json: the sizes of tensors, by their names here, and defaults.

  The config.json has to say the labels and, of the plain transformer, the number of heads.
  """
  layer = "tener.encoder.layer.{}.output.dense.weight"
  attention = "tener.encoder.layer.0.attention.self."
  labels, width = _shape(tensors, "classifier.weight")
  if len(raw.get("id2label") or ()) != labels:
    raise InputError(f"id2label: expected {labels} tags, by the numbers that they have in out_fc")
  found: dict[str, Any] = {
    **_DEFAULTS,
    **_DISTANCES,
    "architectures": [ARCHITECTURES["crf" if "crf.transitions" in tensors else "token"]],
    "hidden_size": width,
    "intermediate_size": _shape(tensors, layer.format(0))[1],
    "num_hidden_layers": sum(layer.format(i) in tensors for i in range(len(tensors))),
    **_tables(tensors),
  }
  if f"{attention}for_keys" in tensors:
    found["num_attention_heads"] = _shape(tensors, f"{attention}for_keys")[0]
    # The code of 2020 has both or, before, neither.
    found["use_k_proj"] = found["e_term"] = f"{attention}key.weight" in tensors
  else:
    found["encoder"] = "transformer"
    if "num_attention_heads" not in raw:
      raise InputError("num_attention_heads: missing; expected it for a plain transformer")
  return found


def _tables(tensors: Readers) -> dict[str, Any]:
  """Returns the sizes of vocabularies and their embeddings, and the encoder of characters."""
  found: dict[str, Any] = {}
  names = {"": "word", "character_": "character", "bigram_": "bigram"}
  for start, name in names.items():
    if not start or f"tener.{name}_embeddings.weight" in tensors:
      rows, width = _shape(tensors, f"tener.{name}_embeddings.weight")
      found |= {f"{start}vocab_size": rows, f"{name}_size": width}
  if "character_size" in found:
    heads = "tener.characters.layer.attention.self.for_keys"
    if heads in tensors:
      found["num_character_heads"] = _shape(tensors, heads)[0]
    elif "tener.characters.convolution.weight" in tensors:
      found["character_encoder"] = "cnn"
    else:
      raise InputError("embed.embeds.1: of another kind; expected one of 'adatrans', 'cnn'")
  widths = [found[f"{name}_size"] for name in names.values() if f"{name}_size" in found]
  inputs = _shape(tensors, "tener.input.weight")[1]
  if inputs != sum(widths):
    widths = " + ".join(map(str, widths))
    raise InputError(f"in_fc: {inputs} inputs; expected {widths}, of words, characters and bigrams")
  return found


def _shape(tensors: Readers, name: str) -> tuple[int, int]:
  if name not in tensors:
    raise InputError(f"{name}: missing; expected the tensors of a TENER")
  shape = tensors[name]().shape
  if len(shape) != 2:
    raise InputError(f"{name}: shape {shape}; expected two sizes")
  return shape
