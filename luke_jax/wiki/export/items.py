"""Items of Wikidata for a build's pages, from any of the files that have them.

A table of SQL is minutes of reading, Wikidata's JSON a day; only the JSON has what items are
instances of, and what they are called.
"""

import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from luke_jax.errors import InputError
from luke_jax.files import Path, read_json, write_json
from luke_jax.files.copies import local
from luke_jax.wiki.read.wikidata import KINDS, Item, check_name, read_items, read_names
from luke_jax.wiki.read.wikidata_sql import SQL, Sitelink, read_sql
from luke_jax.wiki.stages.files import save_array
from luke_jax.wiki.stages.title_stage import NOWHERE, Titles

ITEMS, CLASSES = "items.npy", "classes.json"
ALIASES, PLACES = "aliases.npy", "alias_places.npy"
NO_ITEM = 0
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
    """Writes each title's item and its names, and returns how many have an item."""
    titles, classes = Titles(self.titles), _Classes()
    items, aliases = np.zeros(len(titles), np.int64), _Aliases(len(titles))
    for page, item, names in self._items(titles, classes):
      if page != NOWHERE and titles.targets[page] == page:
        items[page] = item
        aliases.add(page, names)
    with_items = int(np.count_nonzero(items))
    if not with_items:
      raise InputError(f"{self.source}: no item of a page of this wiki; {_EXPECTED}")
    save_array(self.folder / ITEMS, items)
    write_json(self.folder / CLASSES, classes.named())
    aliases.write(self.folder)
    return {"items": with_items}

  def _items(
    self, titles: Titles, classes: "_Classes"
  ) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """Yields numbers of titles and of items with their names, and adds the items' classes."""
    if self.source.name.endswith(SQL):
      for page, item in _from_sql(self.source, titles, self.database):
        yield page, item, ()
    elif self.source.name.endswith(KINDS):
      with self.source.open("rb") as file:
        for item in read_items(file, self.source, self.language):
          title = item.sitelinks.get(self.database)
          classes.add(item, bool(title))
          if title:
            names = (*([item.label] if item.label else []), *item.aliases)
            yield titles.table.index(title), _number(item.id, self.source), names
    else:
      for title, item in read_names(self.source, self.database):
        yield titles.table.index(title.replace("_", " ")), _number(item, self.source), ()


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


class _Aliases:
  """Names of items by the numbers of titles, as one array of bytes: millions take no objects."""

  def __init__(self, titles: int):
    self._text, self._places = bytearray(), np.zeros((titles, 2), np.int64)

  def add(self, title: int, names: Sequence[str]) -> None:
    """Adds the names of a title's item."""
    start = len(self._text)
    self._text += "\n".join([" ".join(name.split()) for name in names]).encode(errors="replace")
    self._places[title] = start, len(self._text)

  def write(self, folder: Path) -> None:
    """Writes the bytes, and where those of each title begin and end."""
    save_array(folder / ALIASES, np.frombuffer(self._text, np.uint8))
    save_array(folder / PLACES, self._places)


class TitleItems:
  """Each title's item, its names and classes, as `MakeItems` has written them.

  Without a folder there are none, and the number of each item is 0.
  """

  def __init__(self, folder: Path | None, titles: int):
    self.numbers: np.ndarray = np.zeros(titles, np.int64)
    self.classes: dict[str, list[str]] = {}  # their labels, by the id of an item
    self._aliases = None
    if folder is not None:
      names = (ITEMS, ALIASES, PLACES)
      self.numbers, *self._aliases = (np.load(local(folder / x), mmap_mode="r") for x in names)
      self.classes = read_json(folder / CLASSES)

  def aliases(self, title: int) -> tuple[str, ...]:
    """Returns the names of a title's item, by the number of the title."""
    if self._aliases is None or title == NOWHERE:
      return ()
    text, places = self._aliases
    start, stop = places[title]
    return tuple(dict.fromkeys(filter(None, text[start:stop].tobytes().decode().split("\n"))))


def check_items(path: Path) -> None:
  """Raises InputError for a file that is none with items."""
  if not path.is_file():
    raise InputError(f"{path}: no such file; {_EXPECTED}")
  if path.name.endswith(KINDS):
    check_name(path)


def _number(item: str, path: Path) -> int:
  if not _ITEM.fullmatch(item):
    raise InputError(f"{path}: {item!r:.40} is no item; expected Q and a number")
  return int(item[1:])


def _from_sql(path: Path, titles: Titles, database: str) -> Iterator[tuple[int, int]]:
  order = np.argsort(titles.page_ids, kind="stable")
  ids = np.asarray(titles.page_ids)[order]
  with path.open("rb") as file:
    for row in read_sql(file, path, (database,)):
      if isinstance(row, Sitelink):
        yield titles.table.index(row.title), row.item
        continue
      place = int(np.searchsorted(ids, row.page_id))
      if place < len(ids) and ids[place] == row.page_id:
        yield int(order[place]), row.item
