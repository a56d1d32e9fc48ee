"""Shards of a corpus: Parquet, Arrow, JSON lines and texts, read and written in pieces."""

import contextlib
import gzip
import io
import itertools
import json
import types
import typing
from collections.abc import Callable, Iterator, Sequence
from typing import IO, Any

import numpy as np

from luke_jax.errors import InputError, not_installed
from luke_jax.files import Path
from luke_jax.formats.datasets import ARROW, PARQUET, is_table, label_names, named
from luke_jax.formats.files import HEAD, check_head, lines_of, not_utf_8

TEXTS, PACKED = ".txt", (".gz", ".zst")
FORMS = "Parquet, Arrow, or .jsonl or .txt, also as .gz or .zst"
_OUTPUTS = {f"{form}{x}": f".jsonl{x}" for form in (".jsonl", TEXTS) for x in ("", *PACKED)}
_OUTPUTS |= {PARQUET: PARQUET, ARROW: PARQUET}
_READ = 256  # rows of a table, at most, that are read together
DIGITS = 4  # of scores after the point


def output_name(name: str) -> str | None:
  """Returns the name of the shard with the answers to one of this name; None for no shard."""
  form = next((x for x in _OUTPUTS if name.endswith(x) and name != x), None)
  return form and name.removesuffix(form) + _OUTPUTS[form]


def zstd_library(use: str) -> Any:
  """Returns the module for Zstandard; raises InputError where it is missing."""
  try:
    from compression import zstd
  except ImportError:  # before Python 3.14
    try:
      from backports import zstd
    except ImportError:
      raise not_installed("backports.zstd", use, "zstd") from None
  return zstd


def rows(path: Path, columns: Sequence[str] | None = None) -> Iterator[tuple[str, Any]]:
  """Yields the rows of a shard with their places: dictionaries, or lines of JSON.

  Of Parquet other columns than those named are not read.
  """
  for place, row in _rows(path, columns):
    if isinstance(row, InputError):
      raise row
    yield place, row


def rows_and_faults(path: Path) -> Iterator[tuple[str, Any]]:
  """Yields the rows of a shard as `rows` does, and an InputError for each that cannot be read.

  If the file cannot be read to its end, one stands for the rest.
  """
  try:
    yield from _rows(path)
  except InputError as fault:
    yield str(path), fault


def _rows(path: Path, columns: Sequence[str] | None = None) -> Iterator[tuple[str, Any]]:
  with _readable(path), path.open("rb") as file:
    if is_table(path):
      batches = _table(path, file, columns)[1]
      of_table = itertools.chain.from_iterable(batch.to_pylist() for batch in batches)
      yield from ((f"{path}: row {number}", row) for number, row in enumerate(of_table, start=1))
      return
    content: Any = gzip.GzipFile(fileobj=file) if path.suffix == ".gz" else file
    if path.suffix == ".zst":
      content = zstd_library(f"to read {path}").ZstdFile(file)
    opened, text = io.BufferedReader(content), TEXTS in path.suffixes[-2:]
    check_head(opened.peek(HEAD), path)
    with io.TextIOWrapper(opened, encoding="utf-8-sig", errors="surrogateescape") as decoded:
      for number, line in lines_of(decoded, str(path)):
        place = f"{path}: line {number}"
        try:
          line.encode("utf-8")
        except UnicodeEncodeError:
          yield place, _not_utf_8(line, path, number)
          continue
        if line.strip():
          yield place, {"text": line} if text else line


def _not_utf_8(line: str, path: Path, number: int) -> InputError:
  """Returns what is wrong with a line, whose other bytes are kept as half pairs."""
  try:
    line.encode("utf-8", "surrogateescape").decode("utf-8")
  except UnicodeDecodeError as fault:
    return not_utf_8(fault, str(path), number - 1)
  raise AssertionError(line)  # half a pair is no text of a file


@contextlib.contextmanager
def _readable(path: Path) -> Iterator[None]:
  try:
    yield
  except InputError:
    raise
  except Exception as fault:  # each library has its own
    form = "a table" if is_table(path) else "lines"
    raise InputError(f"{path}: {fault}; expected {form} as its name says") from None


def _table(
  path: Path, file: IO[bytes], columns: Sequence[str] | None = None
) -> tuple[Any, Iterator[Any]]:
  """Returns the schema and the parts of an open table."""
  pa = arrow(f"to read {path}")
  if path.suffix == ARROW:
    stream = pa.ipc.open_stream(file)
    return stream.schema, iter(stream)
  table = pa.parquet.ParquetFile(file, pre_buffer=False, buffer_size=2**20)
  return table.schema_arrow, table.iter_batches(_READ, columns=columns)


def arrow(use: str) -> Any:
  """Returns pyarrow; raises InputError where it is missing."""
  try:
    import pyarrow.parquet
  except ImportError:
    raise not_installed("pyarrow", use, "arrow") from None
  return pyarrow


def read_table(path: Path) -> list[dict[str, object]]:
  """Returns the rows of a table; numbers of labels, whose names the file has, become names."""
  with _readable(path), path.open("rb") as file:
    names = label_names(_table(path, file)[0].metadata or {})
  return [{key: named(x, names.get(key)) for key, x in row.items()} for _, row in rows(path)]


def schema_with(path: Path, name: str, kind: Any) -> Any:
  """Returns the schema of a table with a column more, of a type of Python; None for lines."""
  if not is_table(path):
    return None
  with _readable(path), path.open("rb") as file:
    schema = _table(path, file)[0]
  if name in schema.names:
    raise InputError(f"{path}: has a column {name}; expected it under another name")
  # What Hugging Face's datasets say of columns would lack the new one.
  metadata = {key: x for key, x in (schema.metadata or {}).items() if key != b"huggingface"}
  return schema.append(arrow("").field(name, arrow_type(kind))).with_metadata(metadata or None)


@contextlib.contextmanager
def written(path: Path, schema: Any = None) -> Iterator[Callable[[Sequence[dict]], None]]:
  """Yields a function that writes rows: to a table of a schema, or as lines of JSON."""
  if schema is not None:
    pa = arrow(f"to write {path}")
    with pa.parquet.ParquetWriter(str(path), schema, compression="zstd") as writer:
      yield lambda rows: writer.write_table(pa.Table.from_pylist(rows, schema=schema))
    return
  with path.open("wb") as raw, contextlib.ExitStack() as stack:
    content: Any = raw
    if path.suffix == ".gz":  # without a name and a time the same rows give the same bytes
      content = stack.enter_context(gzip.GzipFile("", "wb", 6, raw, mtime=0))
    elif path.suffix == ".zst":
      content = stack.enter_context(zstd_library(f"to write {path}").ZstdFile(raw, "wb"))
    # Half a surrogate pair is written as JSON has it in ASCII.
    file = io.TextIOWrapper(content, encoding="utf-8", errors="backslashreplace", newline="\n")
    stack.enter_context(file)
    yield lambda rows: file.writelines(
      json.dumps(row, ensure_ascii=False, separators=(",", ":"), default=str) + "\n" for row in rows
    )


def plain(value: Any) -> Any:
  """Returns an answer as JSON has it: named fields as objects, scores with four digits."""
  if isinstance(value, np.ndarray):  # the shortest numbers that are the same in float32
    return [float(str(x)) for x in value] if value.ndim == 1 else list(map(plain, value))
  if isinstance(value, tuple) and (names := typing.get_type_hints(type(value))):
    return {name: plain(x) for name, x in zip(names, value, strict=True)}
  if isinstance(value, list | tuple):
    return list(map(plain, value))
  return round(value, DIGITS) if isinstance(value, float) else value


def arrow_type(kind: Any) -> Any:
  """Returns the type of a column for a type of Python: a named tuple, or a list of these."""
  pa = arrow("")
  simple = {int: pa.int64(), float: pa.float64(), str: pa.string(), np.float32: pa.float32()}
  if kind in simple:
    return simple[kind]
  inner = typing.get_args(kind)
  if isinstance(kind, types.UnionType):  # with None
    return arrow_type(inner[0])
  if inner:
    return pa.list_(arrow_type(inner[0]))
  return pa.struct([(name, arrow_type(x)) for name, x in typing.get_type_hints(kind).items()])
