"""Titled texts without markup: WikiExtractor's, JSON lines, Parquet, and folders of files."""

import contextlib
import hashlib
import html
import itertools
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple
from urllib.parse import unquote

from luke_jax.errors import InputError
from luke_jax.files import Path, sizes
from luke_jax.files.copies import local
from luke_jax.formats.shards import arrow
from luke_jax.wiki.read.dump import SKIPPED, WITHOUT_IT
from luke_jax.wiki.read.dump_files import AGAIN, LONGEST, chunks, kind_of, stream_starts
from luke_jax.wiki.read.facts import facts_of_text
from luke_jax.wiki.read.markup import Paragraph
from luke_jax.wiki.read.pages import Page
from luke_jax.wiki.read.titles import normalized_form

Form = Literal["doc", "json", "parquet", "folder"]

TEXTS = (
  'documents in <doc id="1" title="A">, JSON lines with "title" and "text" (both also as .bz2, .gz,'
  " .xz or .zst), Parquet with these columns, or a folder of Title.txt"
)
_SUFFIX = ".txt"
_BEGIN, _PARQUET = b"<doc", b"PAR1"
_ATTRIBUTE = re.compile(r'\s([a-z]+)="(.*?)"(?=\s+[a-z]+="|\s*>)')
_ROWS = 500  # of Parquet, which are in memory
_HEADING_WORDS, _HEADING = 8, 60
_CLAUSE = re.compile(r"[,;:?!]|\.\s|\b(?:is|was|are|were|has|had|he|she|it|they)\b", re.IGNORECASE)
_REFERS = re.compile(r"\brefers? to:?$")


class Document(NamedTuple):
  """A text with its title; the id is that of the page it comes from, if that is known.

  One that is no number is the text's own, as in a catalogue.
  """

  id: int | None
  title: str
  text: str
  own_id: str | None = None


@dataclass(frozen=True)
class TextPart:
  """A range of bytes of a file, with the documents that begin in it; or files of a folder.

  Of Parquet it is a range of row groups.
  """

  path: Path
  form: Form
  start: int = 0
  stop: int = 0
  names: tuple[str, ...] = ()


def form_of(path: Path) -> Form | None:
  """Returns the form of a file or folder of texts, None for a file that is none of them."""
  if path.is_dir():
    return "folder"
  head = bytearray()
  for data, _ in chunks(path, 0, 1):
    head += data
    if len(head.strip()) > len(_BEGIN):
      break
  if head.startswith(_PARQUET):
    return "parquet"
  start = bytes(head[:1000]).removeprefix(b"\xef\xbb\xbf").lstrip()
  return "doc" if start.startswith(_BEGIN) else "json" if start.startswith(b"{") else None


def split_texts(paths: Sequence[Path], size: int) -> list[TextPart]:
  """Returns files and folders in parts of about `size` bytes; the same ones give the same parts."""
  parts = []
  for path in map(Path, paths):
    form = form_of(path)
    if form is None:
      raise InputError(f"{path}: neither texts nor a dump of the others; expected {TEXTS}")
    if form == "folder":
      parts += _folder_parts(path, size)
      continue
    if form == "parquet":
      parts += _parquet_parts(path, size)
      continue
    length, kind, starts = path.stat().st_size, kind_of(path), [0]
    if kind == "xml":
      starts = list(range(0, length, size))
    elif kind == "bz2":
      for start in stream_starts(path):
        starts += [start] if start - starts[-1] >= size else []
    parts += [TextPart(path, form, *edges) for edges in itertools.pairwise([*starts, length])]
  return parts


def text_files(folder: Path) -> dict[str, int]:
  """Returns the sizes of the texts in a folder by name, in order."""
  files = {name: size for name, size in sorted(sizes(folder).items()) if name.endswith(_SUFFIX)}
  if not files:
    raise InputError(
      f"{folder}: a folder without files in {_SUFFIX}; expected one text in each, Title{_SUFFIX};"
      f" or several files by name: {folder}/*.bz2"
    )
  return files


def read_documents(
  part: TextPart, *, faults: Counter | None = None, skip_bad: bool = False
) -> Iterator[Document]:
  """Yields the documents of a part.

  `faults` counts those with bytes that are not UTF-8, which read as U+FFFD. Documents that cannot
  be read are errors, or counted too where `skip_bad` is true.
  """
  faults = Counter() if faults is None else faults
  read = {"doc": _in_tags, "json": _in_json, "parquet": _in_parquet, "folder": _in_files}[part.form]
  for where, document in read(part):
    if isinstance(document, Document) and "\ufffd" in document.text:
      faults["invalid UTF-8"] += 1
    if isinstance(document, Document) and document.title.strip():
      yield document
    elif skip_bad:
      faults[SKIPPED] += 1
    else:
      fault = "an empty title" if isinstance(document, Document) else document
      raise InputError(f"{where}: {fault}; expected a title and a text, {WITHOUT_IT}")


def page_from_document(document: Document, language: str) -> Page:
  """Returns a text as a page without links. Its lines are paragraphs; lines like headings stay."""
  title = normalized_form("NFC", " ".join(document.title.split()))
  lines = [line for line in map(str.strip, document.text.split("\n")) if line]
  if lines and " ".join(lines[0].split()) in (title, document.title.strip()):
    del lines[0]
  paragraphs, section = [], ""
  for line in lines:
    section = line.rstrip(".") if paragraphs and _is_heading(line) else section
    paragraphs.append(Paragraph(line, (), not section, section))
  first = lines[0] if lines else ""
  disambiguation = title.endswith(" (disambiguation)") or bool(_REFERS.search(first))
  id = _id_of(title) if document.id is None else document.id
  facts = facts_of_text(title, first, language)
  page = Page(id, title, None, disambiguation, tuple(paragraphs), facts)
  return page._replace(own_id=document.own_id)


def _is_heading(line: str) -> bool:
  """Returns whether a line may be a heading, which WikiExtractor ends with a full stop."""
  if len(line) > _HEADING or len(line.split()) > _HEADING_WORDS:
    return False
  return not line[:1].islower() and not _CLAUSE.search(line)


def _id_of(title: str) -> int:
  """Returns an id for a page without one, which does not depend on the other pages."""
  return int.from_bytes(hashlib.blake2b(title.encode(errors="replace"), digest_size=6).digest())


def _folder_parts(folder: Path, size: int) -> list[TextPart]:
  parts, names, total = [], [], 0
  for name, length in text_files(folder).items():
    if names and total + length > size:
      parts.append(TextPart(folder, "folder", names=tuple(names)))
      names, total = [], 0
    names.append(name)
    total += length
  return [*parts, TextPart(folder, "folder", names=tuple(names))]


def _parquet_parts(path: Path, size: int) -> list[TextPart]:
  with _parquet(path) as file:
    sizes_of_groups = [
      file.metadata.row_group(group).total_byte_size for group in range(file.num_row_groups)
    ]
  starts, total = [0], 0
  for group, length in enumerate(sizes_of_groups):
    if total and total + length > size:
      starts.append(group)
      total = 0
    total += length
  edges = itertools.pairwise([*starts, len(sizes_of_groups)])
  return [TextPart(path, "parquet", *edge) for edge in edges]


@contextlib.contextmanager
def _parquet(path: Path) -> Iterator[Any]:
  """Yields an opened file of Parquet; raises InputError for what pyarrow cannot read of it."""
  pyarrow = arrow(f"to read {path}")
  try:
    with pyarrow.parquet.ParquetFile(str(local(path))) as file:
      yield file
  except (pyarrow.ArrowException, OSError) as fault:
    raise InputError(f"{path}: {fault}; expected {TEXTS}".replace("\n", " ")) from None


_Read = Iterator[tuple[str, Document | str]]  # of each document its place, and it or its fault


def _lines(part: TextPart) -> Iterator[tuple[str, str, bool]]:
  """Yields the place of each line, the line, and whether it is the part's.

  A line that begins where a part stops is still that part's, so the next one leaves it out without
  having to know what is before it.
  """
  held, at, inside, number = b"", 0, 0, 0
  skip = part.start > 0
  after = f" after byte {part.start}" if part.start else ""
  for data, is_inside in itertools.chain(
    chunks(part.path, part.start, part.stop), [(b"\n", False)]
  ):
    inside += len(data) * is_inside
    *lines, held = (held + data).split(b"\n")
    if len(held) > LONGEST:
      raise InputError(
        f"{part.path}: line {number + len(lines) + 1}{after} has more than {LONGEST:,} bytes;"
        f" expected {TEXTS}"
      )
    for line in lines:
      number += 1
      if not skip:
        yield f"{part.path}: line {number}{after}", line.decode(errors="replace"), at <= inside
      skip, at = False, at + len(line) + 1


def _in_tags(part: TextPart) -> _Read:
  head, place, body = "", "", []
  for where, line, is_ours in _lines(part):
    begins = line.lstrip("\ufeff").startswith("<doc ")
    if head and (begins or line.strip() == "</doc>"):
      yield place, _tagged(head, body) if not begins else "no </doc> at its end"
      head, body = "", []
    if begins and is_ours:
      head, place = line, where
    elif head:
      body.append(line)
    elif not is_ours:
      return
  if head:
    raise InputError(f"{place}: cut off in a document; expected {AGAIN}")


def _tagged(head: str, body: Sequence[str]) -> Document | str:
  attributes = dict(_ATTRIBUTE.findall(head))
  if "title" not in attributes:
    return f"{head[:60]!r} has no title"
  id = attributes.get("id", "")
  title, text = html.unescape(attributes["title"]), html.unescape("\n".join(body))
  return _identified(id, title, text)


def _identified(id: str, title: str, text: str) -> Document:
  if id.isascii() and id.isdigit():
    return Document(int(id), title, text)
  return Document(None, title, text, id or None)


def _in_json(part: TextPart) -> _Read:
  for where, line, is_ours in _lines(part):
    if not is_ours:
      return
    if line.strip():
      yield where, _from_json(line)


def _from_json(line: str) -> Document | str:
  try:
    value: Any = json.loads(line.lstrip("\ufeff"))
  except (ValueError, RecursionError) as fault:
    return f"no JSON ({fault})" if isinstance(fault, ValueError) else "no JSON"
  return _from_object(value) if isinstance(value, dict) else "no object of JSON"


def _from_object(value: dict[str, Any]) -> Document | str:
  title, text, id = value.get("title"), value.get("text"), value.get("id")
  if not isinstance(title, str) or not isinstance(text, str):
    return f'"title" or "text" is missing or no string among {", ".join(sorted(value))[:80]!r}'
  return _identified("" if id is None else str(id), title, text)


def _in_parquet(part: TextPart) -> _Read:
  with _parquet(part.path) as file:
    columns = [name for name in ("id", "title", "text") if name in file.schema_arrow.names]
    if not {"title", "text"} <= set(columns):
      names = ", ".join(file.schema_arrow.names)
      raise InputError(f"{part.path}: columns {names[:80]}; expected title and text")
    groups = list(range(part.start, part.stop))
    for batch in file.iter_batches(_ROWS, row_groups=groups, columns=columns) if groups else ():
      for row in batch.to_pylist():
        where = f"{part.path}: row groups from {part.start}: {row['title']!r:.60}"
        yield where, _from_object(row)


def _in_files(part: TextPart) -> _Read:
  for name in part.names:
    path = part.path / name
    title = unquote(name.rpartition("/")[2].removesuffix(_SUFFIX)).replace("_", " ")
    text = path.read_bytes().decode(errors="replace").removeprefix("\ufeff")
    yield str(path), Document(None, title, text.replace("\r\n", "\n"))
