"""The bytes of dump files: plain XML, bzip2 in one stream or many, gzip, xz, or Zstandard."""

import bz2
import contextlib
import gzip
import lzma
import re
import zlib
from collections.abc import Callable, Iterator
from typing import IO, Any, Literal

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.formats.shards import zstd_library

Kind = Literal["xml", "bz2", "gz", "xz", "zst"]

KINDS = ".xml, .xml.bz2, .xml.gz, .xml.xz or .xml.zst"
AGAIN = "a whole dump: fetch it again, and compare its checksum"
_EXPECTED = f"expected a dump, {KINDS}"
_MAGIC: dict[bytes, Kind] = {
  b"BZh": "bz2",
  b"\x1f\x8b": "gz",
  b"\xfd7zXZ\0": "xz",
  b"\x28\xb5\x2f\xfd": "zst",
}
# Archives of files, from which dumps have to be taken first.
_ARCHIVES = {
  b"7z\xbc\xaf\x27\x1c": "7z x -so {name} | bzip2 > {stem}.bz2",
  b"PK\x03\x04": "unzip -p {name} | bzip2 > {stem}.bz2",
}
# Bytes of a page, a text or an entity, of which Wikipedia's own have at most two or four million:
# a file of three kilobytes may have a page of gigabytes in it.
LONGEST = 50_000_000
_DICTIONARY = 1 << 29  # bytes that an xz file may ask for; xz -9 asks for an eighth
_CHUNK = 1 << 20  # bytes of a file, or of a stream's content, that are read at once
_PAST = 1 << 14  # bytes of content past the part that is read: only the end of a page is needed
_STREAM = re.compile(rb"BZh[1-9]1AY&SY")
_STREAM_LENGTH = 10
_OFFSET = re.compile(rb"^([0-9]+):", re.MULTILINE)


def kind_of(path: Path) -> Kind:
  """Returns a dump's kind, by its first bytes.

  Raises InputError for a file that cannot be opened, is empty or is not what its name says.
  """
  try:
    with path.open("rb") as file:
      head = file.read(6)
  except OSError as error:
    raise InputError(f"{path}: {error.strerror}; {_EXPECTED}") from None
  if not head:
    raise InputError(f"{path}: empty; {_EXPECTED}")
  for magic, command in _ARCHIVES.items():
    if head.startswith(magic):
      shown = command.format(name=path.name, stem=path.stem)
      raise InputError(f"{path}: an archive; {_EXPECTED}, as of: {shown}")
  kinds = [kind for magic, kind in _MAGIC.items() if head.startswith(magic)]
  kind = kinds[0] if kinds else "xml"
  named = path.suffix.removeprefix(".")
  starts = next((magic for magic, form in _MAGIC.items() if form == named), None)
  if starts and named != kind:
    raise InputError(f"{path}: starts with {head!r}; expected .{named}, which starts with {starts}")
  return kind


def stream_starts(path: Path) -> list[int]:
  """Returns the starts of the streams in a bzip2 file, from the dump's index if it is there."""
  index = _index_of(path)
  return _scanned_starts(path) if index is None else _indexed_starts(path, index)


def chunks(path: Path, start: int, stop: int) -> Iterator[tuple[bytes, bool]]:
  """Yields the content from `start` to the file's end, and whether it begins before `stop`.

  For bzip2 both are starts of streams, and a stream's whole content counts as its start. Before a
  stream past `stop` comes an empty chunk, so that a caller who stops there saves its decoding. Of
  other compressed files the content is read from the first byte to the last.
  """
  kind = kind_of(path)
  if kind == "xml":
    return _plain_chunks(path, start, stop)
  return _bz2_chunks(path, start, stop) if kind == "bz2" else _other_chunks(path, kind)


def _plain_chunks(path: Path, start: int, stop: int) -> Iterator[tuple[bytes, bool]]:
  with path.open("rb") as file:
    file.seek(start)
    while start < stop and (data := file.read(min(_CHUNK, stop - start))):
      start += len(data)
      yield data, True
    while data := file.read(_CHUNK):
      yield data, False


def _bz2_chunks(path: Path, start: int, stop: int) -> Iterator[tuple[bytes, bool]]:
  with path.open("rb") as file:
    file.seek(start)
    data = file.read(_CHUNK)
    while data:
      at = file.tell() - len(data)
      if at >= stop:
        yield b"", False
      decompressor = bz2.BZ2Decompressor()
      while not decompressor.eof:
        if decompressor.needs_input and not data and not (data := file.read(_CHUNK)):
          raise InputError(f"{path}: cut off in the stream at byte {at}; expected {AGAIN}")
        try:
          content = decompressor.decompress(data, _CHUNK if at < stop else _PAST)
        except OSError:
          place = f"{path}: damaged in the stream at byte {at}"
          raise InputError(f"{place}; expected {AGAIN}") from None
        data = b""
        if content:
          yield content, at < stop
      data = decompressor.unused_data or file.read(_CHUNK)


def _other_chunks(path: Path, kind: Kind) -> Iterator[tuple[bytes, bool]]:
  opened, errors = _decoder(kind, path)
  with path.open("rb") as file, opened(file) as content:
    while True:
      try:
        data = content.read(_CHUNK)
      except EOFError:
        raise InputError(f"{path}: cut off; expected {AGAIN}") from None
      except errors as fault:
        raise InputError(f"{path}: damaged ({fault}); expected {AGAIN}") from None
      if not data:
        return
      yield data, True


def _decoder(kind: Kind, path: Path) -> tuple[Callable[[IO[bytes]], Any], tuple[type, ...]]:
  """Returns a function that opens the content of an open file, and the errors of reading it."""
  if kind == "gz":
    return lambda file: gzip.GzipFile(fileobj=file), (OSError, zlib.error)
  if kind == "xz":
    return lambda file: contextlib.nullcontext(_Xz(file)), (OSError, lzma.LZMAError)
  zstd = zstd_library(f"to read {path}")
  return zstd.ZstdFile, (OSError, zstd.ZstdError)


class _Xz:
  """The content of an xz file, which LZMAFile would read with any dictionary it asks for."""

  def __init__(self, file: IO[bytes]) -> None:
    self._file, self._data = file, b""
    self._stream: lzma.LZMADecompressor | None = None

  def read(self, size: int) -> bytes:
    """Returns some of the content, at most so many bytes; none at its end."""
    content = b""
    while not content:
      if self._stream is None:
        self._data = self._data.lstrip(b"\0") or self._file.read(_CHUNK)  # padding between streams
        if not self._data:
          return b""
        self._stream = lzma.LZMADecompressor(memlimit=_DICTIONARY)
      if self._stream.needs_input and not self._data:
        self._data = self._file.read(_CHUNK)
        if not self._data:
          raise EOFError
      content, self._data = self._stream.decompress(self._data, size), b""
      if self._stream.eof:
        self._data, self._stream = self._stream.unused_data, None
    return content


def _scanned_starts(path: Path) -> list[int]:
  starts, before, tail = [], 0, b""
  with path.open("rb") as file:
    while data := file.read(_CHUNK):
      block = tail + data
      starts += [before - len(tail) + match.start() for match in _STREAM.finditer(block)]
      before += len(data)
      tail = block[1 - _STREAM_LENGTH :]
  return starts if 0 in starts[:1] else [0, *starts]  # an empty stream has another header


def _index_of(path: Path) -> Path | None:
  """Returns a multistream dump's index, which is named after the dump, or None without one."""
  if "-multistream" not in path.name:
    return None
  name = path.name.replace("-multistream", "-multistream-index", 1).replace(".xml", ".txt", 1)
  candidates = [path.with_name(name), path.with_name(name.removesuffix(".bz2"))]
  return next((candidate for candidate in candidates if candidate.is_file()), None)


def _indexed_starts(path: Path, index: Path) -> list[int]:
  starts, tail = {0}, b""
  for data, _ in chunks(index, 0, 1):
    lines, newline, tail = (tail + data).rpartition(b"\n")
    starts |= set(map(int, set(_OFFSET.findall(lines + newline))))
    if len(tail) > LONGEST:
      raise InputError(f"{index}: no places of streams; expected lines like 600:10:Title")
  starts |= set(map(int, _OFFSET.findall(tail)))
  ordered, length = sorted(starts), path.stat().st_size
  if ordered[-1] >= length:
    raise InputError(
      f"{path}: cut off at byte {length}, for its index has a stream at byte {ordered[-1]};"
      f" expected {AGAIN}"
    )
  with path.open("rb") as file:
    for start in ordered:
      file.seek(start)
      if not _STREAM.match(file.read(_STREAM_LENGTH)):
        raise InputError(f"{index}: no stream at byte {start} of the dump; expected its own index")
  if len(ordered) == 1:
    raise InputError(f"{index}: no places of streams; expected lines like 600:10:Title")
  return ordered
