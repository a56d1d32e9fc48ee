"""Attributes in a model directory: an entry of config.json, and their values as lists of text."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from luke_jax.convert.sources import CONFIG
from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.heads.attributes import UNKNOWN, Attributes, AttributesHead, attributes_head
from luke_jax.models.family import Backbone, Described
from luke_jax.text import json_files

ENTRY = "attributes"  # of config.json


def values_file(name: str) -> str:
  """Returns the name of the file with the values of an attribute, in the order of their vectors."""
  return f"attribute-{name}.txt"


def write_attributes(attributes: Attributes, folder: Path) -> dict[str, Any]:
  """Writes the values of each attribute, a line each; returns the entry of config.json."""
  for name, values in zip(attributes.names, attributes.known, strict=True):
    lines = "".join(f"{value}\n" for value in (UNKNOWN, *values))
    (folder / values_file(name)).write_text(lines, encoding="utf-8")
  return {ENTRY: {key: x for key, x in dataclasses.asdict(attributes).items() if key != "values"}}


def read_head(directory: Path, backbone: Backbone, described: Described) -> AttributesHead:
  """Returns the head that the config.json of a directory describes."""
  entry = described.rest.get(ENTRY)
  if not isinstance(entry, dict) or not entry.get("names"):
    raise InputError(f"{directory / CONFIG}: {ENTRY}: {entry!r:.40}; expected an object with names")
  attributes = _attributes(entry, f"{directory / CONFIG}: {ENTRY}")
  values = tuple(read_values(directory / values_file(name)) for name in attributes.names)
  attributes = dataclasses.replace(attributes, values=values)
  return attributes_head(backbone, described.num_labels, attributes)


def _attributes(entry: Mapping[str, Any], place: str) -> Attributes:
  known = [field.name for field in dataclasses.fields(Attributes) if field.name != "values"]
  unknown = [name for name in entry if name not in known]
  names = entry["names"]
  if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
    raise InputError(f"{place}.names: {names!r:.40}; expected a list of names")
  if unknown:
    raise InputError(f"{place}.{unknown[0]}: unknown; expected {', '.join(known)}")
  try:
    return Attributes(**{**entry, "names": tuple(names)})
  except InputError as fault:
    raise InputError(f"{place}.{fault}") from None


def read_values(file: Path) -> tuple[str, ...]:
  """Reads the values of an attribute, of which the first line is that of unknown ones."""
  first, *values = json_files.read_text(file).split("\n")
  if first != UNKNOWN or values[-1:] != [""]:
    raise InputError(
      f"{file}: line 1: {first!r:.40}; expected {UNKNOWN}, then a value on each line"
    )
  if len(set(values)) < len(values):
    twice = next(value for value in values if values.count(value) > 1)
    raise InputError(f"{file}: {twice!r}: twice; expected each value once")
  return tuple(values[:-1])
