"""Parquet and Arrow files, as Hugging Face's datasets are: rows as objects of JSON lines are."""

import json
import re
from collections.abc import Mapping

from luke_jax.errors import InputError
from luke_jax.files import Path

PARQUET, ARROW = ".parquet", ".arrow"
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


def read_table(path: Path) -> list[dict[str, object]]:
  """Returns the rows of a table; numbers of labels, whose names the file has, become names."""
  try:
    import pyarrow as pa
    import pyarrow.parquet as pq
  except ImportError:
    expected = "expected pyarrow with it, pip install pyarrow, or JSON lines"
    raise InputError(f"{path}: Parquet or Arrow; {expected}") from None
  try:
    with path.open("rb") as file:
      if path.suffix == PARQUET:
        table = pq.read_table(file)
      else:
        table = pa.ipc.open_stream(file).read_all()
  except (OSError, pa.ArrowException) as fault:
    raise InputError(f"{path}: {fault}; expected a table as its name says") from None
  names = _label_names(table.schema.metadata or {})
  return [
    {key: named(value, names.get(key)) for key, value in x.items()} for x in table.to_pylist()
  ]


def _label_names(metadata: Mapping[bytes, bytes]) -> dict[str, list[str]]:
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
