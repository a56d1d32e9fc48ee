"""Items of Wikidata for a build's pages, from any of the files that have them.

A table of SQL is minutes of reading, Wikidata's JSON a day; only the JSON has what items are
instances of.
"""

import dataclasses
import gzip
import re
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from luke_jax.errors import InputError
from luke_jax.files import Path, read_json, write_json
from luke_jax.files.copies import local
from luke_jax.wiki.read.wikidata import KINDS, Item, check_name, read_items
from luke_jax.wiki.stages.files import save_array
from luke_jax.wiki.stages.linked_documents import read_names
from luke_jax.wiki.stages.title_stage import NOWHERE, Titles

ITEMS, CLASSES = "items.npy", "classes.json"
NO_ITEM = 0
SQL = (".sql", ".sql.gz")
_PROPERTY = re.compile(rb"\((\d+),'wikibase_item','Q(\d+)'")
_SITE = re.compile(rb"\(\d+,(\d+),'([^'\\]*)','((?:[^'\\]|\\.)*)'\)")
_ESCAPED = re.compile(rb"\\(.)", re.DOTALL)
_ITEM = re.compile(r"Q[1-9][0-9]{0,17}")
_EXPECTED = (
  "expected page_props.sql.gz or wb_items_per_site.sql.gz, a JSON dump of Wikidata, or lines of a"
  " title, a tab and a Qid"
)


@dataclasses.dataclass(frozen=True)
class MakeItems:
  """The function of the only shard: finds the item of each title that is a page."""

  folder: Path
  titles: Path
  source: Path
  database: str  # of the wiki, in sitelinks
  language: str

  def __call__(self, shard: int) -> Mapping[str, int]:
    """Writes the number of each title's item, 0 for none, and returns how many have one."""
    titles, classes = Titles(self.titles), _Classes()
    items = np.zeros(len(titles), np.int64)
    for page, item in self._items(titles, classes):
      if page != NOWHERE and titles.targets[page] == page:
        items[page] = item
    with_items = int(np.count_nonzero(items))
    if not with_items:
      raise InputError(f"{self.source}: no item of a page of this wiki; {_EXPECTED}")
    save_array(self.folder / ITEMS, items)
    write_json(self.folder / CLASSES, classes.named())
    return {"items": with_items}

  def _items(self, titles: Titles, classes: "_Classes") -> Iterator[tuple[int, int]]:
    """Yields numbers of titles and of items, and adds what the items are instances of."""
    if self.source.name.endswith(SQL):
      yield from _from_sql(self.source, titles, self.database)
    elif self.source.name.endswith(KINDS):
      with self.source.open("rb") as file:
        for item in read_items(file, self.source, self.language):
          title = item.sitelinks.get(self.database)
          classes.add(item, bool(title))
          if title:
            yield titles.table.index(title), _number(item.id, self.source)
    else:
      for title, item in read_names(self.source, self.database):
        yield titles.table.index(title.replace("_", " ")), _number(item, self.source)


class _Classes:
  """The classes of pages' items, and the labels of items that may be classes."""

  def __init__(self) -> None:
    self._of: dict[str, tuple[str, ...]] = {}
    self._labels: dict[str, str] = {}

  def add(self, item: Item, has_page: bool) -> None:
    if has_page and item.instance_of:
      self._of[item.id] = item.instance_of
    if item.may_be_class and item.label:
      self._labels[item.id] = item.label

  def named(self) -> dict[str, list[str]]:
    """Returns the labels of the classes of each item; a class without a label is left out."""
    return {
      item: [self._labels[x] for x in classes if x in self._labels]
      for item, classes in self._of.items()
    }


def check_items(path: Path) -> None:
  """Raises InputError for a file that is none with items."""
  if not path.is_file():
    raise InputError(f"{path}: no such file; {_EXPECTED}")
  if path.name.endswith(KINDS):
    check_name(path)


def read_item_numbers(folder: Path | None, titles: int) -> np.ndarray:
  """Returns the number of each title's item, 0 for none, as `MakeItems` has written them."""
  if folder is None:
    return np.zeros(titles, np.int64)
  return np.load(local(folder / ITEMS), mmap_mode="r")


def read_classes(folder: Path | None) -> dict[str, list[str]]:
  """Returns the labels of the classes of items, by id, as `MakeItems` has written them."""
  return {} if folder is None else read_json(folder / CLASSES)


def _number(item: str, path: Path) -> int:
  if not _ITEM.fullmatch(item):
    raise InputError(f"{path}: {item!r:.40} is no item; expected Q and a number")
  return int(item[1:])


def _from_sql(path: Path, titles: Titles, database: str) -> Iterator[tuple[int, int]]:
  order = np.argsort(titles.page_ids, kind="stable")
  ids, wiki = np.asarray(titles.page_ids)[order], database.encode()
  for line in _lines(path):
    for page_id, item in _PROPERTY.findall(line):
      place = int(np.searchsorted(ids, int(page_id)))
      if place < len(ids) and ids[place] == int(page_id):
        yield int(order[place]), int(item)
    for item, site, title in _SITE.findall(line):
      if site == wiki:
        text = _ESCAPED.sub(rb"\1", title).decode(errors="replace")
        yield titles.table.index(text.replace("_", " ")), int(item)


def _lines(path: Path) -> Iterator[bytes]:
  with path.open("rb") as raw:
    file: Any = gzip.GzipFile(fileobj=raw) if path.name.endswith(".gz") else raw
    try:
      yield from file
    except (EOFError, OSError, zlib.error) as fault:
      raise InputError(f"{path}: cut off or damaged ({fault}); expected a whole file") from None
