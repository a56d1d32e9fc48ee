"""Datasets that `luke-jax data build` makes: a split may replace any file of examples."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

import numpy as np

from luke_jax.errors import InputError, not_installed
from luke_jax.files import Path, in_bucket, is_there
from luke_jax.tasks.files import Faults

Example = TypeVar("Example")


def is_split(source: str | Path) -> bool:
  """Returns whether a source is FOLDER:SPLIT with the folder of a dataset."""
  folder, colon, _ = str(source).rpartition(":")
  return bool(colon) and is_there(f"{folder}/dataset_info.json")


def read_dataset(
  source: str | Path, parse: Callable[[Mapping[str, object], str, str], Example], faults: Faults
) -> Iterator[Example]:
  """Yields the results of `parse` for the examples of FOLDER:SPLIT, as for JSON lines."""
  tfds = library(f"to read {source}")
  folder, _, split = str(source).rpartition(":")
  if in_bucket(Path(folder)):
    raise InputError(f"{source}: a dataset in a bucket; expected one on a disk, or a file")
  builder: Any = tfds.builder_from_directory(folder)
  if split not in builder.info.splits:
    raise InputError(f"{source}: no such split; expected one of {', '.join(builder.info.splits)}")
  for number, row in enumerate(builder.as_data_source(split), start=1):
    with faults.caught():
      value = as_json(row)
      yield parse(value, value.get("id", str(number)), f"{source}: example {number}")


def library(use: str) -> Any:
  """Returns TFDS, which takes half a second to import; raises InputError where it is missing."""
  try:
    import tensorflow_datasets
  except ImportError:
    raise not_installed("tensorflow_datasets", use, "datasets") from None
  return tensorflow_datasets


def as_json(row: Mapping[str, object]) -> dict[str, Any]:
  """Returns a row as an object of JSON lines; in the row each part of a span is a column."""
  value = {name: _plain(column) for name, column in row.items()}
  for name in [name.removesuffix("_start") for name in value if name.endswith("_start")]:
    names = [f"{name}_{part}" for part in ("start", "end", "label")]
    parts = [value.pop(column) for column in names if column in value]
    value[name] = [list(span) for span in zip(*parts, strict=True)]
  return value


def _plain(column: Any) -> Any:
  if isinstance(column, bytes):
    return column.decode()
  is_array = isinstance(column, np.ndarray | np.generic)
  return column.tolist() if is_array else list(map(_plain, column))
