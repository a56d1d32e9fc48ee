"""Pages as a MediaWiki export: XML in many bz2 streams, and the index of where each starts."""

import bz2
import hashlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape, quoteattr

from .extras import Page

STREAM = 40  # pages in a stream; Wikimedia's dumps have 100
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
FORMATS = {"wikitext": "text/x-wiki", "css": "text/css", "Scribunto": "text/plain"}


class Wiki(NamedTuple):
  """A dump's statement of the wiki it is from."""

  language: str
  database: str
  name: str
  main_page: str
  namespaces: Mapping[int, str]


def write_dump(path: Path, wiki: Wiki, pages: Sequence[Page]) -> None:
  """Writes NAME-pages-articles-multistream.xml.bz2 and its index, for a path without the ending."""
  streams, index = [bz2.compress(_head(wiki).encode())], []
  ids = _ids(len(pages))
  for first in range(0, len(pages), STREAM):
    offset = sum(map(len, streams))
    batch = list(zip(ids, pages, strict=True))[first : first + STREAM]
    index += [f"{offset}:{id}:{escape(page.title)}\n" for id, page in batch]
    streams.append(bz2.compress("".join(page_xml(id, page) for id, page in batch).encode()))
  streams.append(bz2.compress(b"</mediawiki>\n"))
  name = f"{path.name}-pages-articles-multistream"
  path.with_name(f"{name}.xml.bz2").write_bytes(b"".join(streams))
  path.with_name(f"{name}-index.txt.bz2").write_bytes(bz2.compress("".join(index).encode()))


def page_xml(id: int, page: Page) -> str:
  """A page with its last revision."""
  data = page.text.encode()
  redirect = f"    <redirect title={quoteattr(page.redirect)} />\n" if page.redirect else ""
  stamp = datetime(2021, 1, 1, tzinfo=UTC) + timedelta(hours=7 * id, seconds=13 * id)
  revision = 100_000 + 17 * id
  contributor = (
    "<username>Quill</username>\n        <id>7</id>" if id % 3 else "<ip>192.0.2.17</ip>"
  )
  minor = "      <minor />\n" if id % 4 == 0 else ""
  return f"""  <page>
    <title>{escape(page.title)}</title>
    <ns>{page.namespace}</ns>
    <id>{id}</id>
{redirect}    <revision>
      <id>{revision}</id>
      <parentid>{revision - 16}</parentid>
      <timestamp>{stamp:%Y-%m-%dT%H:%M:%SZ}</timestamp>
      <contributor>
        {contributor}
      </contributor>
{minor}      <origin>{revision}</origin>
      <model>{page.model}</model>
      <format>{FORMATS[page.model]}</format>
      <text bytes="{len(data)}" sha1="{_sha1(data)}" xml:space="preserve">{_text(page)}</text>
      <sha1>{_sha1(data)}</sha1>
    </revision>
  </page>
"""


def _text(page: Page) -> str:
  return escape(page.text, {'"': "&quot;"})


def _sha1(data: bytes) -> str:
  """The hash as MediaWiki writes it: 31 digits of base 36."""
  number, digits = int.from_bytes(hashlib.sha1(data).digest()), ""
  while number:
    number, digit = divmod(number, 36)
    digits = DIGITS[digit] + digits
  return digits.zfill(31)


def _ids(count: int) -> list[int]:
  """Ids that grow, with holes where pages were deleted."""
  ids, id = [], 1
  for number in range(count):
    ids.append(id)
    id += 1 + (number % 7 == 3) + 4 * (number % 31 == 30)
  return ids


def _head(wiki: Wiki) -> str:
  space = "http://www.mediawiki.org/xml/export-0.11/"
  namespaces = "".join(
    f'      <namespace key="{key}" case="first-letter">{escape(name)}</namespace>\n'
    if name
    else f'      <namespace key="{key}" case="first-letter" />\n'
    for key, name in wiki.namespaces.items()
  )
  return f"""<mediawiki xmlns="{space}" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" \
xsi:schemaLocation="{space} http://www.mediawiki.org/xml/export-0.11.xsd" version="0.11" \
xml:lang="{wiki.language}">
  <siteinfo>
    <sitename>{escape(wiki.name)}</sitename>
    <dbname>{wiki.database}</dbname>
    <base>https://{wiki.language}.sample.example/wiki/{wiki.main_page}</base>
    <generator>MediaWiki 1.41.0</generator>
    <case>first-letter</case>
    <namespaces>
{namespaces}    </namespaces>
  </siteinfo>
"""
