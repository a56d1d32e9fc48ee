"""Attributes in a model directory: an entry of config.json, and their values as lists of text."""

import dataclasses
import functools
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from luke_jax.convert.sources import CONFIG, Source
from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.heads.attributes import (
  UNKNOWN,
  Attributes,
  AttributesHead,
  attributes_head,
  table_name,
)
from luke_jax.models.system import Backbone, Described
from luke_jax.text import json_files

ENTRY = "attributes"  # of config.json
AUTHORS_TABLES = ("user", "product")
_LAYER = re.compile(r"(?:ATrans_decoder|layer)\.(\d+)\.")


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
  fields: dict[str, Any] = {**entry, "names": tuple(names)}
  try:
    return Attributes(**fields)
  except InputError as fault:
    raise InputError(f"{place}.{fault}") from None


def read_values(file: Path) -> tuple[str, ...]:
  """Reads the values of an attribute, without the line of unknown ones."""
  lines = _lines(file)
  values = tuple(lines[1:] if lines[0] == UNKNOWN else lines)
  if len({*values, UNKNOWN}) <= len(values):
    twice = next(value for value in values if value == UNKNOWN or values.count(value) > 1)
    raise InputError(f"{file}: {twice!r}: again on another line; expected each value once")
  return values


def _lines(file: Path) -> list[str]:
  if not file.is_file():
    raise InputError(f"{file}: no such file; expected a value of the attribute on each line")
  lines = json_files.read_text(file).removesuffix("\n").split("\n")
  if "" in lines:
    raise InputError(f"{file}: line {lines.index('') + 1}: empty; expected a value")
  return lines


def of_authors(source: Source) -> Source:
  """Returns a model of the authors of MA-BERT with all that its tensors say; others unchanged.

  Their config.json is that of the BERT. Their pickles of users and products are not read: the
  directory has to have a list of each. Values that they do not know get the mean vector, as
  theirs has no such row.
  """
  names, described = source.tensors.names, source.described
  found = [name for name in AUTHORS_TABLES if f"{table_name(name)}.weight" in names]
  if not found or ENTRY in described.rest:
    return source
  layers = {int(match[1]) for name in names if (match := _LAYER.match(name))}
  count = len(source.tensors.read("classifier.out_proj.weight"))
  labels = described.labels
  if len(labels) != count:
    labels = tuple(str(rating) for rating in range(1, count + 1))
  entry = {
    "names": found,
    "form": _form(names),
    "layers": max(1, len(layers)),
    "text_attribute": "text" in names,
  }
  described = dataclasses.replace(
    described,
    architecture=source.system.architectures[AttributesHead.kind],
    labels=labels,
    num_labels=count,
    rest={**described.rest, ENTRY: entry},
  )
  tables = frozenset(
    f"{table_name(name)}.weight"
    for name in found
    if _lines(source.directory / values_file(name))[0] != UNKNOWN
  )
  read = functools.partial(_with_unknown, source.tensors.read, tables)
  tensors = dataclasses.replace(source.tensors, read=read)
  return dataclasses.replace(source, described=described, tensors=tensors)


def _form(names: frozenset[str]) -> str:
  if "fusion.linear.weight" in names:
    return "a"
  if not any(name.startswith("ATrans_decoder.") for name in names):
    return "b"
  return "c" if "ATrans_decoder.0.attention.atts.0.value.weight" in names else "d"


def _with_unknown(
  read: Callable[[str], np.ndarray], tables: frozenset[str], name: str
) -> np.ndarray:
  tensor = read(name)
  return np.concatenate([tensor.mean(0, keepdims=True), tensor]) if name in tables else tensor
