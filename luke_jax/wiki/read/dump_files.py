"""The bytes of dump files: plain XML, or bzip2 in one stream or many."""

import bz2
import re
from collections.abc import Iterator

from luke_jax.errors import InputError
from luke_jax.files import Path

_CHUNK = 1 << 20  # bytes of a file, or of a stream's content, that are read at once
_PAST = 1 << 14  # bytes of content past the part that is read: only the end of a page is needed
_STREAM = re.compile(rb"BZh[1-9]1AY&SY")
_STREAM_LENGTH = 10
_OFFSET = re.compile(rb"^([0-9]+):", re.MULTILINE)


def is_bz2(path: Path) -> bool:
  """Returns whether a file is compressed, by its first bytes.

  Raises InputError for a file that cannot be opened, is empty or is not what its name says.
  """
  try:
    with path.open("rb") as file:
      head = file.read(3)
  except OSError as error:
    raise InputError(f"{path}: {error.strerror}; expected a dump, .xml or .xml.bz2") from None
  if not head:
    raise InputError(f"{path}: empty; expected a dump, .xml or .xml.bz2")
  if head != b"BZh" and path.suffix == ".bz2":
    raise InputError(f"{path}: starts with {head!r}; expected bzip2, which starts with b'BZh'")
  return head == b"BZh"


def stream_starts(path: Path) -> list[int]:
  """Returns the starts of the streams in a bzip2 file, from the dump's index if it is there."""
  index = _index_of(path)
  return _scanned_starts(path) if index is None else _indexed_starts(path, index)


def chunks(path: Path, start: int, stop: int) -> Iterator[tuple[bytes, bool]]:
  """Yields the content from `start` to the file's end, and whether it begins before `stop`.

  For bzip2 both are starts of streams, and a stream's whole content counts as its start. Before a
  stream past `stop` comes an empty chunk, so that a caller who stops there saves its decoding.
  """
  read = _bz2_chunks if is_bz2(path) else _plain_chunks
  return read(path, start, stop)


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
          raise InputError(f"{path}: cut off in the stream at byte {at}; expected its end")
        try:
          content = decompressor.decompress(data, _CHUNK if at < stop else _PAST)
        except OSError:
          raise InputError(f"{path}: damaged in the stream at byte {at}; expected bzip2") from None
        data = b""
        if content:
          yield content, at < stop
      data = decompressor.unused_data or file.read(_CHUNK)


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
  starts |= set(map(int, _OFFSET.findall(tail)))
  ordered = sorted(starts)
  with path.open("rb") as file:
    for start in ordered:
      file.seek(start)
      if not _STREAM.match(file.read(_STREAM_LENGTH)):
        raise InputError(f"{index}: no stream at byte {start} of the dump; expected its own index")
  if len(ordered) == 1:
    raise InputError(f"{index}: no places of streams; expected lines like 600:10:Title")
  return ordered
