"""Dumps of wikis on Wikimedia's server, or one with the same folders."""

import re
from typing import NamedTuple

from luke_jax.errors import InputError
from luke_jax.files.fetch import read_page, size_of

MIRROR = "https://dumps.wikimedia.org"
PAGES, ITEMS = "pages-articles-multistream.xml.bz2", "page_props.sql.gz"
_SUM = re.compile(r"^([0-9a-f]{40}) [ *](([a-z0-9_]+)-(\d{8}|latest)-(\S+))$", re.MULTILINE)
_WIKI = re.compile(r"[a-z][a-z0-9_]{1,40}")


class DumpFile(NamedTuple):
  """A file of a dump, with its size in bytes and its SHA-1."""

  name: str
  address: str
  size: int
  sha1: str


def latest(wiki: str, mirror: str) -> tuple[DumpFile, DumpFile]:
  """Returns the files of a wiki's latest dump: its pages, and what items of Wikidata they are."""
  if not _WIKI.fullmatch(wiki):
    raise InputError(f"{wiki}: no wiki; expected the name of one, as simplewiki, enwiki or dewiki")
  mirror = mirror.rstrip("/")
  sums = f"{mirror}/{wiki}/latest/{wiki}-latest-sha1sums.txt"
  files = {}
  for sha1, name, of, date, what in _SUM.findall(read_page(sums)):
    if of == wiki and what in (PAGES, ITEMS):
      address = f"{mirror}/{wiki}/{date}/{name}"
      files[what] = DumpFile(name, address, size_of(address), sha1)
  if missing := {PAGES, ITEMS} - files.keys():
    raise InputError(
      f"{sums}: no {sorted(missing)[0]}; expected the list of a whole dump: where the latest is"
      " being made, try again in some days, or give another mirror by --from"
    )
  return files[PAGES], files[ITEMS]
