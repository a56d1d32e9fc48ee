"""Data sets of others: tables of Hugging Face, and folders that `python -m data.build` makes.

Tables are Parquet and Arrow files; a split of a folder may replace any file of examples.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from luke_jax.errors import InputError, not_installed
from luke_jax.files import Path, in_bucket, is_there, read_json
from luke_jax.formats.files import Example, Faults

PARQUET, ARROW = ".parquet", ".arrow"
_OWN = "tensorflow_datasets."
_SHARD = re.compile(r"-\d+-of-\d+.*$")  # of a name, the number of a part of a split


def is_table(path: Path) -> bool:
  """Returns whether a file is a table, by its name."""
  return path.suffix in (PARQUET, ARROW)


def tables_of(folder: Path) -> list[Path]:
  """Returns the tables of a folder, as `save_to_disk` of Hugging Face's datasets writes them.

  Raises InputError for those of several splits, of which one is not to be trained on.
  """
  tables = [file for file in sorted(folder.iterdir()) if is_table(file)]
  splits = dict.fromkeys(_SHARD.sub("", file.stem) for file in tables)
  if len(splits) > 1:
    raise InputError(f"{folder}: tables of {', '.join(splits)}; expected the files of one of them")
  if not tables and (parts := sorted(folder.glob("*/dataset_info.json"))):
    names = ", ".join(str(part.parent) for part in parts)
    raise InputError(f"{folder}: several data sets; expected one of {names}")
  return tables


def label_names(metadata: Mapping[bytes, bytes]) -> dict[str, list[str]]:
  """Returns the names of labels by column, where Hugging Face's datasets wrote them."""
  try:
    features = json.loads(metadata.get(b"huggingface", b"{}"))["info"]["features"]
    columns = {key: x.get("feature", x) for key, x in features.items()}
    return {key: x["names"] for key, x in columns.items() if "names" in x}
  except (ValueError, KeyError, AttributeError, TypeError):
    return {}


def named(value: object, names: list[str] | None) -> object:
  """Returns a label's number, or those of a list, by their names if there are any."""
  if names is None:
    return value
  if isinstance(value, list):
    return [named(x, names) for x in value]
  return names[value] if type(value) is int and 0 <= value < len(names) else value


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
  _check_classes(Path(folder, "features.json"))
  builder: Any = tfds.builder_from_directory(folder)
  if split not in builder.info.splits:
    raise InputError(f"{source}: no such split; expected one of {', '.join(builder.info.splits)}")
  for number, row in enumerate(builder.as_data_source(split), start=1):
    with faults.caught():
      value = as_json(row)
      yield parse(value, value.get("id", str(number)), f"{source}: example {number}")


def _check_classes(path: Path) -> None:
  """Raises InputError for features whose classes are not TFDS's own, which it would import."""
  waiting = [read_json(path)] if path.exists() else []
  while waiting:
    value = waiting.pop()
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    waiting += inner
    name = value.get("pythonClassName", _OWN) if isinstance(value, dict) else _OWN
    if not str(name).startswith(_OWN):
      raise InputError(f"{path}: {name!r:.80}; expected features of tensorflow_datasets alone")


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


SPANS, CHOICES = "labels", "choices"  # of a result: the label of a span, and that of a text


def is_export(value: Mapping[str, object]) -> bool:
  """Returns whether an object is a task of an export."""
  if "data" in value and ("annotations" in value or "completions" in value):
    return True
  labels = value.get("label")
  return isinstance(labels, list) and any(isinstance(x, dict) and SPANS in x for x in labels)


def as_ours(value: Mapping[str, Any], place: str) -> dict[str, Any]:
  """Returns a task of an export with our names: `spans` of names, or `labels` of the whole text.

  Of several annotations it is the first that was not cancelled; one that has none has no answer.
  """
  if "data" not in value:
    return _with_id(value, {"text": value.get("text"), "spans": _spans(value["label"], place)})
  ours: dict[str, Any] = {"text": text_of(value, place)}
  results = results_of(value)
  if results is not None:
    values = [x["value"] for x in results if isinstance(x.get("value"), dict)]
    chosen = [name for x in values for name in x.get(CHOICES, ())]
    ours |= {"labels": chosen} if chosen else {"spans": _spans(values, place)}
  return _with_id(value, ours)


def results_of(value: Mapping[str, Any]) -> list[dict[str, Any]] | None:
  """Returns the annotations of a task of an export; None if there is none."""
  annotations = value.get("annotations", value.get("completions"))
  valid = [x for x in annotations or () if isinstance(x, dict) and not x.get("was_cancelled")]
  if not valid:
    return None
  return [x for x in valid[0].get("result") or [] if isinstance(x, dict)]


def _with_id(value: Mapping[str, object], ours: dict[str, object]) -> dict[str, object]:
  return ours | {name: value[name] for name in ("id",) if name in value}


def text_of(value: Mapping[str, Any], place: str) -> object:
  """Returns the text of a task: the field of this name, or the only one that is a text."""
  data = value["data"]
  texts = [x for x in data.values() if isinstance(x, str)] if isinstance(data, dict) else []
  if isinstance(data, dict) and "text" in data:
    return data["text"]
  if len(texts) != 1:
    raise InputError(f"{place}: data: {len(texts)} texts; expected one, or a field text")
  return texts[0]


def _spans(values: Any, place: str) -> list[list[Any]]:
  spans = []
  for value in values:
    names = value.get(SPANS, []) if isinstance(value, dict) else []
    if len(names) != 1:
      raise InputError(f"{place}: {value!r:.60}; expected a span with one of {SPANS}")
    spans.append([value.get("start"), value.get("end"), names[0]])
  return spans
