"""Dump files in parts for several workers, and the pages' elements in a part."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import unescape

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.wiki.read.dump_files import AGAIN, LONGEST, chunks, kind_of, stream_starts

WITHOUT_IT = "or --skip-bad-pages to read the others"
SKIPPED = "bad page skipped"
_END = b"</mediawiki>"
_LARGE = f"has more than {LONGEST:,} bytes; expected a dump of newest revisions"
_ENDLESS = "has no end; expected </page>"
_TAIL = 4096  # bytes in which a dump's end must be


@dataclass(frozen=True)
class DumpPart:
  """A range of bytes of a dump file, whose pages are those with their first byte in it.

  `start` and `stop` are positions in the file; in a compressed file both are starts of streams.
  """

  path: Path
  start: int
  stop: int


def split_dumps(paths: Sequence[Path], size: int) -> list[DumpPart]:
  """Returns the files in parts of about `size` bytes; the same files give the same parts.

  Raises InputError for a file without a dump's end, if its end can be read alone.
  """
  parts = []
  for path in map(Path, paths):
    kind, length = kind_of(path), path.stat().st_size
    starts = [0]
    if kind == "bz2":
      starts = _stream_starts(path, size, length)
    elif kind == "xml":
      _check_end(path, [max(0, length - _TAIL)], length)
      starts = list(range(0, length, size))
    stops = [*starts[1:], length]
    parts += [DumpPart(path, start, stop) for start, stop in zip(starts, stops, strict=True)]
  return parts


def page_elements(part: DumpPart, skipped: Counter | None) -> Iterator[bytes]:
  """Yields the content of every `<page>` that begins in the part.

  A page without an end, or one that is too long to be held, is an error, or counted in `skipped` if
  that is given. No text of a page has the bytes `<page>` or `</page>`, because texts are escaped.
  """
  buffer, owned, at = bytearray(), 0, 0
  start, content, ended = -1, b"", False  # the page that is open, the last one, the end of the dump
  for data, inside in chunks(part.path, part.start, part.stop):
    if not inside and start < 0 and not _may_begin(buffer):
      return
    buffer += data
    owned = len(buffer) if inside else owned
    while True:
      if start < 0:
        start = buffer.find(b"<page>", at)
        if start < 0:
          ended = ended or buffer.find(_END, at) >= 0
          at = max(at, len(buffer) - len(_END) + 1)
          break
        if start >= owned:
          return
        at = start + 6
      stop = buffer.find(b"</page>", at)
      if stop < 0:
        at = max(at, len(buffer) - 6)
        if len(buffer) - start <= LONGEST:
          break
        _skip(part, bytes(buffer[start + 6 :][:_TAIL]), skipped, _LARGE)
        start = -1  # what is left of it is passed over, up to the next page
        continue
      following = buffer.find(b"<page>", start + 6, stop)
      if following >= 0:
        _skip(part, bytes(buffer[start + 6 : following]), skipped)
        start, at = -1, following
        continue
      content = bytes(buffer[start + 6 : stop])
      yield content
      start, at = -1, stop + 7
    keep = at if start < 0 else start
    del buffer[:keep]
    owned, at, start = max(0, owned - keep), at - keep, min(start, 0)
  if start >= 0 and _END in buffer[-_TAIL:]:
    _skip(part, bytes(buffer), skipped)
  elif start >= 0:
    raise InputError(f"{part.path}: cut off in {_named(bytes(buffer))}; expected {AGAIN}")
  elif not ended and part.start == 0 and part.stop == part.path.stat().st_size:
    raise InputError(_no_end(part.path, f"after {_named(content)}"))


def between(data: bytes, opening: bytes, closing: bytes) -> bytes | None:
  """Returns the bytes from the first opening to the closing after it, None without both."""
  start = data.find(opening)
  stop = data.find(closing, start + len(opening)) if start >= 0 else -1
  return None if stop < 0 else data[start + len(opening) : stop]


def _stream_starts(path: Path, size: int, length: int) -> list[int]:
  every = stream_starts(path)
  if len(every) > 1:
    _check_end(path, every, length)
  starts = [0]
  for start in every:
    if start - starts[-1] >= size:
      starts.append(start)
  return starts


def _check_end(path: Path, starts: Sequence[int], length: int) -> None:
  """Reads the end of a dump from one of the starts on, the last one as a rule."""
  tail, back = b"", 1
  while len(tail) < _TAIL and back < 2 * len(starts):
    tail = b""
    for data, _ in chunks(path, starts[-min(back, len(starts))], length):
      tail = (tail + data)[-_TAIL:]
    if _END in tail:
      return
    back *= 2
  raise InputError(_no_end(path, f"byte {length}"))


def _no_end(path: Path, place: str) -> str:
  expected = f"expected {AGAIN}. If only that line is missing, add it"
  return f"{path}: no </mediawiki> at its end, {place}; {expected}"


def _may_begin(buffer: bytearray) -> bool:
  return any(buffer.endswith(b"<page>"[:length]) for length in range(1, 6))


def _skip(
  part: DumpPart,
  content: bytes,
  skipped: Counter | None,
  what: str = "has no end; expected </page>",
) -> None:
  if skipped is None:
    fault = f"{_named(content)} {what}, {WITHOUT_IT}"
    raise InputError(f"{part.path}: {fault}")
  skipped[SKIPPED] += 1


def _named(content: bytes) -> str:
  title = between(content[:_TAIL], b"<title>", b"</title>")
  if title is None:
    return "a page without title"
  return f"page {unescape(title.decode(errors='replace'))[:80]!r}"
