"""Wikimedia's tables of SQL that say which item of Wikidata a page is: minutes of reading."""

import gzip
import re
import zlib
from collections.abc import Collection, Iterator
from typing import IO, NamedTuple

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.wiki.read.dump_files import LONGEST

SQL = (".sql", ".sql.gz")
_PROPERTY = re.compile(rb"\((\d+),'wikibase_item','Q(\d+)'")
_SITE = r"\(\d+,(\d+),'({})','((?:[^'\\]|\\.)*)'\)"
_ESCAPED = re.compile(rb"\\(.)", re.DOTALL)


class PageItem(NamedTuple):
  """The item of a page of the wiki whose `page_props` it is in."""

  page_id: int
  item: int


class Sitelink(NamedTuple):
  """The title of an item's page in a wiki (`enwiki`)."""

  item: int
  site: str
  title: str


def read_sql(file: IO[bytes], path: Path, sites: Collection[str]) -> Iterator[PageItem | Sitelink]:
  """Yields the items of pages in `page_props` or `wb_items_per_site`, in the latter of some wikis.

  `file` is the file at `path`, opened.
  """
  wikis = "|".join(re.escape(site) for site in sorted(sites))
  sitelink = re.compile(_SITE.format(wikis).encode())
  for line in _lines(file, path):
    for page_id, item in _PROPERTY.findall(line):
      yield PageItem(int(page_id), int(item))
    for item, site, title in sitelink.findall(line):
      text = _ESCAPED.sub(rb"\1", title).decode(errors="replace")
      yield Sitelink(int(item), site.decode(), text.replace("_", " "))


def _lines(file: IO[bytes], path: Path) -> Iterator[bytes]:
  try:
    plain = gzip.GzipFile(fileobj=file) if path.name.endswith(".gz") else file
    while line := plain.readline(LONGEST):
      if len(line) == LONGEST:
        raise InputError(f"{path}: a line of {LONGEST:,} bytes or more; expected a table of SQL")
      yield line
  except (EOFError, OSError, zlib.error) as fault:
    raise InputError(f"{path}: cut off or damaged ({fault}); expected a whole file") from None
