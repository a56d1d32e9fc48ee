"""Shards of a corpus: Parquet, Arrow, JSON lines and texts, read and written in pieces.

A shard is a file, or some of its lines, or some of the groups of rows of a Parquet file.
"""

import contextlib
import gzip
import io
import itertools
import json
import types
import typing
from collections.abc import Callable, Iterator, Sequence
from typing import IO, Any, NamedTuple

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
SHARD = 2**22  # bytes of the file that a shard has at least, if that has more than twice as many
_READ_BYTES = 2**16  # in which the end of a line is looked for
_LARGE = "-{:05}-of-{:05}"  # after the name of a large file, of each of its shards


class Shard(NamedTuple):
  """A file of a corpus from one place to another: bytes, or groups of rows of Parquet."""

  path: Path
  begin: int = 0
  end: int | None = None  # None: to its end


def shards_in(path: Path) -> dict[str, Shard]:
  """Returns the shards of a file by the names of their answers; none of a file of other forms.

  A large one has several, which depend on the file alone: Parquet, and lines that are not packed.
  """
  form = next((x for x in _OUTPUTS if path.name.endswith(x) and path.name != x), None)
  if form is None:
    return {}
  stem, made = path.name.removesuffix(form), _OUTPUTS[form]
  size = path.stat().st_size if form in (".jsonl", TEXTS, PARQUET) else 0
  places = [0]
  if size >= 2 * SHARD:
    places = _groups(path) if form == PARQUET else list(range(0, size - SHARD + 1, SHARD))
  if len(places) == 1:
    return {stem + made: Shard(path)}
  parts = enumerate(zip(places, [*places[1:], None], strict=True))
  return {
    stem + _LARGE.format(i, len(places)) + made: Shard(path, begin, end)
    for i, (begin, end) in parts
  }


def _groups(path: Path) -> list[int]:
  """Returns the groups of rows that begin a shard; the first alone of a file that is no table."""
  begin, room = [0], 0
  try:
    with _readable(path), path.open("rb") as file:
      groups = _parquet(path, file).metadata
      sizes = [groups.row_group(i).total_byte_size for i in range(groups.num_row_groups)]
  except InputError:
    return begin  # as whoever reads it says
  for i, size in enumerate(sizes):
    if room >= SHARD:
      begin, room = [*begin, i], 0
    room += size
  return begin


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
  for place, row in _rows(Shard(path), columns):
    if isinstance(row, InputError):
      raise row
    yield place, row


def rows_and_faults(shard: Shard) -> Iterator[tuple[str, Any]]:
  """Yields the rows of a shard as `rows` does, and an InputError for each that cannot be read.

  If the file cannot be read to its end, one stands for the rest.
  """
  try:
    yield from _rows(shard)
  except InputError as fault:
    yield str(shard.path), fault


def _rows(shard: Shard, columns: Sequence[str] | None = None) -> Iterator[tuple[str, Any]]:
  path = shard.path
  with _readable(path), path.open("rb") as file:
    if is_table(path):
      first, batches = _table(shard, file, columns)[1:]
      of_table = itertools.chain.from_iterable(batch.to_pylist() for batch in batches)
      yield from ((f"{path}: row {number}", row) for number, row in enumerate(of_table, first + 1))
      return
    content: Any = gzip.GzipFile(fileobj=file) if path.suffix == ".gz" else file
    if path.suffix == ".zst":
      content = zstd_library(f"to read {path}").ZstdFile(file)
    after = ""
    if shard.begin or shard.end is not None:
      content = _Lines(file, shard)
      after = f" after byte {content.begin}" if content.begin else ""
    opened, text = io.BufferedReader(content), TEXTS in path.suffixes[-2:]
    if not after:
      check_head(opened.peek(HEAD), path)
    encoding = "utf-8" if after else "utf-8-sig"
    with io.TextIOWrapper(opened, encoding=encoding, errors="surrogateescape") as decoded:
      for number, line in lines_of(decoded, str(path)):
        place = f"{path}: line {number}{after}"
        try:
          line.encode("utf-8")
        except UnicodeEncodeError:
          yield place, _not_utf_8(line, path, number)
          continue
        if line.strip():
          yield place, {"text": line} if text else line


class _Lines(io.RawIOBase):
  """The bytes of those lines of an open file that begin in a shard."""

  def __init__(self, file: IO[bytes], shard: Shard):
    self._file, end = file, self._first(file, shard.end)
    self.begin = self._first(file, shard.begin)
    self._left = end - self.begin

  @staticmethod
  def _first(file: IO[bytes], place: int | None) -> int:
    """Goes to the first line that begins at a byte or after it, and returns its place."""
    if not place:
      return file.seek(0, io.SEEK_SET if place == 0 else io.SEEK_END)
    file.seek(place - 1)
    while read := file.read(_READ_BYTES):
      if (end := read.find(b"\n") + 1) > 0:
        return file.seek(file.tell() - len(read) + end)
    return file.tell()

  def readable(self) -> bool:
    """Returns that it can be read."""
    return True

  def readinto(self, buffer: Any) -> int:
    """Reads into a buffer, and returns how many bytes."""
    read = self._file.read(min(len(buffer), self._left))
    self._left -= len(read)
    buffer[: len(read)] = read
    return len(read)


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
  shard: Shard, file: IO[bytes], columns: Sequence[str] | None = None
) -> tuple[Any, int, Iterator[Any]]:
  """Returns the schema of an open table, how many rows are before a shard, and its parts."""
  path, begin, end = shard
  if path.suffix == ARROW:
    stream = arrow(f"to read {path}").ipc.open_stream(file)
    return stream.schema, 0, iter(stream)
  table = _parquet(path, file)
  groups = range(begin, table.num_row_groups if end is None else end)
  before = sum(table.metadata.row_group(i).num_rows for i in range(begin))
  return table.schema_arrow, before, table.iter_batches(_READ, list(groups), columns)


def _parquet(path: Path, file: IO[bytes]) -> Any:
  parquet = arrow(f"to read {path}").parquet
  return parquet.ParquetFile(file, pre_buffer=False, buffer_size=2**20)


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
    names = label_names(_table(Shard(path), file)[0].metadata or {})
  return [{key: named(x, names.get(key)) for key, x in row.items()} for _, row in rows(path)]


def schema_with(path: Path, name: str, kind: Any, *, broken: bool = False) -> Any:
  """Returns the schema of a table with a column more, of a type of Python; None for lines.

  That of a file that is no table has this column alone if it may be `broken`.
  """
  if not is_table(path):
    return None
  try:
    with _readable(path), path.open("rb") as file:
      schema = _table(Shard(path), file)[0]
  except InputError:
    if not broken:
      raise
    schema = arrow("").schema([])
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
