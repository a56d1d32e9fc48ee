"""Examples in memory, as lists, data frames and data sets have them, as files of JSON lines."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from luke_jax.errors import InputError
from luke_jax.files import Path, whole
from luke_jax.tasks.tables import named

Data = str | Path | Iterable[Mapping[str, Any]] | Mapping[str, Iterable[Mapping[str, Any]]]
TRAIN, DEV = "train", "validation"  # of a dictionary of data sets


def train_and_dev(train: Data, dev: Data | None) -> tuple[Data, Data | None]:
  """Returns what to train on and what to score on, which may be one dictionary of data sets."""
  named: Any = train
  if not isinstance(train, Mapping) or TRAIN not in named:
    return train, dev
  return named[TRAIN], named.get(DEV) if dev is None else dev


def examples_file(data: Data, path: Path) -> Path:
  """Returns the file of the data: of examples in memory one that is written now.

  Labels that a data set of Hugging Face has as numbers are written by their names.
  """
  if isinstance(data, str | Path):
    return Path(data)
  as_records = getattr(data, "to_dict", None) if hasattr(data, "columns") else None
  rows: object = as_records("records") if as_records else data  # of a data frame
  if isinstance(rows, Mapping) or not isinstance(rows, Iterable):
    raise InputError(f"{path.stem}: {data!r:.60}; expected a file, or a list of dictionaries")
  names = _label_names(getattr(data, "features", None))
  path.parent.mkdir(parents=True, exist_ok=True)
  with whole(path) as part, part.open("w", encoding="utf-8") as file:
    for number, row in enumerate(rows, start=1):
      if not isinstance(row, Mapping):
        raise InputError(f"{path.stem}: example {number}: {row!r:.60}; expected a dictionary")
      row = {key: named(value, names.get(key)) for key, value in row.items()}
      file.write(json.dumps(row, ensure_ascii=False, default=_plain) + "\n")
  return path


def _plain(value: object) -> object:
  """Returns an array or a NumPy number as JSON has it."""
  if isinstance(value, np.ndarray | np.generic):
    return value.tolist()
  raise InputError(f"{value!r:.60}: a {type(value).__name__}; expected what JSON has")


def _label_names(features: object) -> dict[str, list[str]]:
  """Returns the names of labels by column, of a data set that has them."""
  if not isinstance(features, Mapping):
    return {}
  columns = {key: getattr(x, "feature", x) for key, x in features.items()}
  return {key: x.names for key, x in columns.items() if hasattr(x, "names")}
