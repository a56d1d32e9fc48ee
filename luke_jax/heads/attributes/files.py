"""Attributes of texts, and their place in a model directory: an entry of config.json, and lists."""

import dataclasses
import functools
import re
from collections.abc import Mapping
from typing import Any, Literal, Self

import numpy as np

from luke_jax.errors import InputError
from luke_jax.files import Path, read_text
from luke_jax.models.config_files import check_fields
from luke_jax.models.head import ReadTensor
from luke_jax.models.system import Described
from luke_jax.nn.activations import Activation

CONFIG, ENTRY = "config.json", "attributes"
UNKNOWN = "<unk>"  # stands for all values that training has not seen; row 0 of each table
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_TABLES = {"user": "usr_embed", "product": "prd_embed"}  # as the authors' files have them
_LAYER = re.compile(r"(?:ATrans_decoder|layer)\.(\d+)\.")


@dataclasses.dataclass(frozen=True)
class Attributes:
  """Attributes that a text has beside its words, and how they are read."""

  names: tuple[str, ...] = ()  # such as user,product; none: texts have no attributes
  # Values of each attribute that have a vector, beside that of the others; none: those of the
  # training file.
  values: tuple[tuple[str, ...], ...] = ()
  form: Literal["a", "b", "c", "d"] = "d"  # of the paper's figure 1
  layers: int = 6  # above the encoder
  dropout: float = 0.1  # share of the attributes that training reads as unknown
  text_attribute: bool = True  # the layers of c and d have a learned attribute of all texts
  act: Activation = "gelu"  # of the layers; the paper has relu, the authors' code gelu
  attribute_init: Literal["normal", "uniform25"] = "normal"  # of the vectors of values

  def __post_init__(self) -> None:
    check_fields(self)
    for name in self.names:
      if not _NAME.fullmatch(name) or self.names.count(name) > 1:
        raise InputError(f"names: {name!r}; expected different names of letters, digits and _")
    if self.values and len(self.values) != len(self.names):
      raise InputError(
        f"values: of {len(self.values)} attributes; expected those of {len(self.names)}"
      )

  @property
  def known(self) -> tuple[tuple[str, ...], ...]:
    """Returns the values of each attribute that have a vector."""
    return self.values or ((),) * len(self.names)

  @property
  def sizes(self) -> tuple[int, ...]:
    """Returns the number of vectors of each attribute, with the one of unknown values."""
    return tuple(1 + len(values) for values in self.known)

  @property
  def streams(self) -> int:
    """Returns the number of streams of attention: attributes and, by default, the text's own."""
    return len(self.names) + self.text_attribute

  def write(self, folder: Path) -> dict[str, object]:
    """Writes the values of each attribute, a line each; returns the entry of config.json."""
    for name, values in zip(self.names, self.known, strict=True):
      lines = "".join(f"{value}\n" for value in (UNKNOWN, *values))
      (folder / values_file(name)).write_text(lines, encoding="utf-8")
    return {ENTRY: {key: x for key, x in dataclasses.asdict(self).items() if key != "values"}}

  @classmethod
  def read(cls, directory: Path, entries: Mapping[str, object]) -> Self:
    """Returns the attributes that the config.json of a directory describes."""
    entry = entries.get(ENTRY)
    if not isinstance(entry, dict) or not entry.get("names"):
      raise InputError(
        f"{directory / CONFIG}: {ENTRY}: {entry!r:.40}; expected an object with names"
      )
    attributes = cls._of_entry(entry, f"{directory / CONFIG}: {ENTRY}")
    values = tuple(read_values(directory / values_file(name)) for name in attributes.names)
    return dataclasses.replace(attributes, values=values)

  @classmethod
  def _of_entry(cls, entry: Mapping[str, object], place: str) -> Self:
    field_names = [field.name for field in dataclasses.fields(cls) if field.name != "values"]
    unknown = [name for name in entry if name not in field_names]
    names = entry["names"]
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
      raise InputError(f"{place}.names: {names!r:.40}; expected a list of names")
    if unknown:
      raise InputError(f"{place}.{unknown[0]}: unknown; expected {', '.join(field_names)}")
    fields: dict[str, Any] = {**entry, "names": tuple(names)}
    try:
      return cls(**fields)
    except InputError as fault:
      raise InputError(f"{place}.{fault}") from None


OF_REVIEWS = Attributes(tuple(_TABLES))


def table_name(attribute: str) -> str:
  """Returns the name of an attribute's table of vectors, that of the authors' if they have it."""
  return _TABLES.get(attribute, f"{attribute}_embed")


def values_file(name: str) -> str:
  """Returns the name of the file with the values of an attribute, in the order of their vectors."""
  return f"attribute-{name}.txt"


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
  lines = read_text(file).removesuffix("\n").split("\n")
  if "" in lines:
    raise InputError(f"{file}: line {lines.index('') + 1}: empty; expected a value")
  return lines


def of_authors(
  described: Described, names: frozenset[str], read: ReadTensor, directory: Path
) -> tuple[Described, ReadTensor] | None:
  """Returns the description and the reader of a model of MA-BERT's authors; None for another.

  Their config.json is that of the BERT. Their pickles of users and products are not read: the
  directory has to have a list of each. Values that they do not know get the mean vector, as
  theirs has no such row.
  """
  present = [name for name in _TABLES if f"{table_name(name)}.weight" in names]
  if not present or ENTRY in described.rest:
    return None
  layers = {int(match[1]) for name in names if (match := _LAYER.match(name))}
  count = len(read("classifier.out_proj.weight"))
  labels = described.labels
  if len(labels) != count:
    labels = tuple(str(rating) for rating in range(1, count + 1))
  entry = {
    "names": present,
    "form": _form(names),
    "layers": max(1, len(layers)),
    "text_attribute": "text" in names,
  }
  rest = {**described.rest, ENTRY: entry}
  described = dataclasses.replace(described, labels=labels, num_labels=count, rest=rest)
  tables = frozenset(
    f"{table_name(name)}.weight"
    for name in present
    if _lines(directory / values_file(name))[0] != UNKNOWN
  )
  return described, functools.partial(_with_unknown, read, tables)


def _form(names: frozenset[str]) -> str:
  if "fusion.linear.weight" in names:
    return "a"
  if not any(name.startswith("ATrans_decoder.") for name in names):
    return "b"
  return "c" if "ATrans_decoder.0.attention.atts.0.value.weight" in names else "d"


def _with_unknown(read: ReadTensor, tables: frozenset[str], name: str) -> np.ndarray:
  tensor = read(name)
  return np.concatenate([tensor.mean(0, keepdims=True), tensor]) if name in tables else tensor
