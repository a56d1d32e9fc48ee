"""MediaWiki dumps of pages as a sequence of pages, read by several workers."""

import re
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from html import unescape

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.wiki.read.dump_files import AGAIN, LONGEST, chunks, kind_of, stream_starts
from luke_jax.wiki.read.languages import CANONICAL_NAMESPACES, LANGUAGES, Language

WITHOUT_IT = "or --skip-bad-pages to read the others"
SKIPPED = "bad page skipped"
_END = b"</mediawiki>"
_LARGE = f"has more than {LONGEST:,} bytes; expected a dump of newest revisions"
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


_HEAD = 1 << 22  # bytes in which a dump's <siteinfo> must end
_WEB_PAGE = 1 << 10  # bytes in which <html> is where a file is a web page
_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
_REDIRECT = re.compile(rb'<redirect(?:\s+title="([^"]*)")?\s*/>')
_REDIRECT_TEXT = re.compile(r"\s*+#\s*+redirect\s*+:?\s*+\[\[([^\[\]|]++)", re.IGNORECASE)
_FIRST_LINK = re.compile(r"\[\[([^\[\]|]+)")


@dataclass(frozen=True)
class Site:
  """A wiki as its dump describes it."""

  language: str
  database: str
  capitalised: bool  # titles start with an upper-case letter
  namespaces: Mapping[str, int]  # every prefix, as `folded` returns it
  names: Mapping[int, str]  # the local name of each namespace

  def __hash__(self) -> int:
    return hash((self.language, self.database, self.capitalised))


@dataclass(frozen=True)
class RawPage:
  """A page as it is in the dump, with its newest text; `redirect` is the title it leads to."""

  id: int
  title: str
  namespace: int
  redirect: str | None
  text: str
  revision: int | None = None  # the newest one's id
  time: str | None = None  # of the newest revision, as 2024-01-31T12:00:00Z


def folded(prefix: str) -> str:
  """Returns a namespace's name for comparison, without its case, underscores and extra spaces."""
  return " ".join(prefix.replace("_", " ").split()).casefold()


def read_site(path: Path) -> Site:
  """Returns the description of the wiki in the first lines of its dump."""
  path = Path(path)
  head = bytearray()
  for data, _ in chunks(path, 0, 1):
    head += data
    if b"</siteinfo>" in head or len(head) > _HEAD:
      break
  start, stop = head.find(b"<mediawiki"), head.find(b"</siteinfo>")
  if start < 0 and b"<html" in head[:_WEB_PAGE].lower():
    raise InputError(f"{path}: a web page, such as an error of the server's; expected {AGAIN}")
  if start < 0:
    begin = bytes(head[:20])
    raise InputError(
      f"{path}: no <mediawiki>, starts with {begin!r}; expected a dump of pages-articles in UTF-8"
    )
  if stop < start:
    raise InputError(f"{path}: no <siteinfo>; expected a dump of pages-articles")
  try:
    root = ElementTree.fromstring(bytes(head[start:stop]) + b"</siteinfo></mediawiki>")
  except ElementTree.ParseError as error:
    raise InputError(f"{path}: <siteinfo>: {error}; expected XML") from None
  return _site(root)


def read_pages(
  part: DumpPart, *, faults: Counter | None = None, skip_bad: bool = False
) -> Iterator[RawPage]:
  """Yields the pages of a part; one at a time is in memory.

  `faults` counts those with bytes that are not UTF-8, which read as U+FFFD. Pages that cannot be
  read are errors, or counted too where `skip_bad` is true.
  """
  faults = Counter() if faults is None else faults
  for data in page_elements(part, faults if skip_bad else None):
    try:
      page = _page(data, part.path, faults)
    except InputError:
      if not skip_bad:
        raise
      faults[SKIPPED] += 1
    else:
      yield page


def _site(root: ElementTree.Element) -> Site:
  schema = root.tag.removesuffix("mediawiki")
  info = root.find(f"{schema}siteinfo")
  assert info is not None  # the slice ends with its end tag
  names = {
    int(element.get("key", "0")): element.text or ""
    for element in info.iter(f"{schema}namespace")
    if re.fullmatch("-?[0-9]+", element.get("key", ""))
  }
  language = root.get(_LANGUAGE, "")
  words = LANGUAGES.get(language, Language())
  aliases = {6: words.files, 14: words.categories, 4: words.projects}
  namespaces = dict(CANONICAL_NAMESPACES)
  namespaces |= {folded(name): number for number in aliases for name in aliases[number]}
  namespaces |= {folded(name): number for number, name in names.items() if name}
  database = info.findtext(f"{schema}dbname", "")
  capitalised = info.findtext(f"{schema}case", "first-letter") == "first-letter"
  return Site(language, database, capitalised, namespaces, names)


def _page(data: bytes, path: Path, faults: Counter) -> RawPage:
  revision = data.rfind(b"<revision>")
  first = data.find(b"<revision>")
  head = data if first < 0 else data[:first]
  title = between(head, b"<title>", b"</title>")
  number = between(head, b"<id>", b"</id>") or b""
  if title is None or not number.strip().isdigit():
    place = f"page {_text(number if title is None else title)!r}"
    raise InputError(f"{path}: {place} without title or id; expected both, {WITHOUT_IT}")
  namespace = between(head, b"<ns>", b"</ns>") or b"0"
  if not re.fullmatch(rb"\s*-?[0-9]+\s*", namespace):
    fault = f"<ns> is {namespace!r}; expected a number, {WITHOUT_IT}"
    raise InputError(f"{path}: page {_text(title)!r}: {fault}")
  encoded = _revision_text(data, revision, first)
  if encoded is None:
    fault = f"its text has no end; expected </text>, {WITHOUT_IT}"
    raise InputError(f"{path}: page {_text(title)!r}: {fault}")
  text = _text(encoded)
  if "\ufffd" in text and not _valid(encoded):
    faults["invalid UTF-8"] += 1
  redirect = _redirect(head, text)
  return RawPage(
    int(number), _text(title), int(namespace), redirect, text, *_version(data, revision)
  )


def _version(data: bytes, revision: int) -> tuple[int | None, str | None]:
  """Returns the id and the time of a revision, None where it has none."""
  stop = data.find(b"<text", revision) if revision >= 0 else -1
  head = data[revision:stop] if stop >= 0 else data[revision:][:_HEAD] if revision >= 0 else b""
  number = between(head, b"<id>", b"</id>") or b""
  time = between(head, b"<timestamp>", b"</timestamp>")
  id = int(number) if number.strip().isdigit() else None
  return id, _text(time).strip() or None if time else None


def _revision_text(data: bytes, revision: int, first: int) -> bytes | None:
  """Returns the last revision's text, empty if it has none; None if it does not end."""
  start = data.find(b"<text", revision) if first >= 0 else -1
  if start < 0:
    return b""
  opened = data.find(b">", start)
  if opened < 0:
    return None
  return b"" if data[opened - 1] == ord("/") else between(data[start:], b">", b"</text>")


def _redirect(head: bytes, text: str) -> str | None:
  element = _REDIRECT.search(head)
  if element is None:
    target = _REDIRECT_TEXT.match(text)
  elif element[1] is not None:
    return _text(element[1])
  else:
    target = _FIRST_LINK.search(text)
  return target[1] if target else None


def _valid(data: bytes) -> bool:
  try:
    data.decode()
  except UnicodeDecodeError:
    return False
  return True


_ENTITIES = re.compile(r"(&(?:#[0-9]{1,7}|#x[0-9a-fA-F]{1,6}|lt|gt|amp|quot|apos);)")
_unescaped = lru_cache(maxsize=1024)(unescape)


def _text(data: bytes) -> str:
  """Returns an element's text with its escaped characters as characters."""
  text = data.decode(errors="replace").replace("\r\n", "\n")
  parts = _ENTITIES.split(text)
  parts[1::2] = map(_unescaped, parts[1::2])
  return "".join(parts)
