"""The stage that exports a build, page by page, and the card beside its tables."""

import contextlib
import dataclasses
import functools
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from luke_jax.errors import InputError
from luke_jax.files import Path, read_json, sample, sha256, write_json, write_text
from luke_jax.files.copies import local
from luke_jax.files.locks import locked
from luke_jax.wiki.export import tables
from luke_jax.wiki.read.pages import Page
from luke_jax.wiki.read.wikidata import KINDS, SQL, Item, Sitelink, read_items, read_names, read_sql
from luke_jax.wiki.stages.linked_sentences import Sentence, split_paragraph
from luke_jax.wiki.stages.page_stage import NOWHERE, Shards, Titles, shards_of
from luke_jax.wiki.stages.progress import StageProgress
from luke_jax.wiki.stages.stage import (
  MANIFEST,
  Done,
  Engine,
  Stage,
  check_made_of,
  discard,
  finished,
  read_finished,
)
from luke_jax.wiki.stages.stored import save_array

CARD = "README.md"
_TABLES: tuple[tables.TableName, ...] = ("pages", "sentences", "links")


def export(
  build: Path,
  output: Path,
  engine: Engine,
  *,
  items: Path | None = None,
  form: tables.Form | None = None,
) -> Done:
  """Exports the pages of a build to a folder as tables with a card, if that is not done."""
  form = form or tables.default_form()
  tables.check_form(form)
  if items is not None:
    check_items(items)
  build, output = build.resolve(), output.resolve()
  pages, titles = read_finished(build / "pages"), read_finished(build / "titles")
  check_made_of(build / "titles", "pages")
  if output == build or (output / "pages" / MANIFEST).exists():
    raise InputError(f"{output}: the folder of a build; expected another one to export to")
  site = read_json(build / "pages" / MANIFEST)["made_of"]["site"]
  with locked(output), StageProgress() as progress:
    made_of = {"pages": pages.key, "titles": titles.key, "form": form}
    items_stage = None
    if items is not None:
      items_stage = _items_stage(build, output, items, site)
      made_of["items"] = items_stage.key
    key = f"{titles.key} {items_stage.key if items_stage else ''}"
    rows = functools.partial(
      _rows, build / "titles", items_stage and items_stage.folder, site["language"], key
    )
    work = Export(output / "data", shards_of(build / "pages", pages), rows, form)
    # Version 1 had no aliases.
    stage = Stage(work.folder, len(work.shards), work, made_of, version=2)
    if items_stage and not finished(stage):
      progress.finish(items_stage, engine)
    done = progress.finish(stage, engine)
    discard(output / "items")
    write_text(output / CARD, tables.card(site, done, form, items is not None))
  return done


def wiki_name(site: Mapping[str, str]) -> str:
  """Returns the name of the wiki in sitelinks; a build of texts has that of its language."""
  database = site["database"]
  return database if database.endswith("wiki") else f"{site['language']}wiki"


def _items_stage(build: Path, output: Path, items: Path, site: Mapping[str, str]) -> Stage:
  database, titles = wiki_name(site), read_finished(build / "titles").key
  work = MakeItems(output / "items", build / "titles", items, database, site["language"])
  # All of Wikidata is not hashed for a day first.
  state = sample(items).hex()[:200] if items.name.endswith(KINDS) else sha256(items)
  made_of = {"titles": titles, "items": state, "database": database}
  return Stage(work.folder, 1, work, made_of, version=2)  # version 1 had no aliases


@dataclasses.dataclass(frozen=True)
class Export:
  """The function of a shard: writes the rows of its pages to a file of each table."""

  folder: Path
  shards: Shards
  rows: Callable[[], "_Rows"]
  form: tables.Form

  def __call__(self, shard: int) -> Mapping[str, int]:
    """Writes the files, and returns the number of rows and of links that are left out."""
    rows = self.rows()
    counts: Counter[str] = Counter(dict.fromkeys(_TABLES, 0))
    with contextlib.ExitStack() as stack:
      write = {
        table: stack.enter_context(tables.table_writer(self._path(table, shard), table, self.form))
        for table in _TABLES
      }
      for page in self.shards.read_pages(shard):
        write["pages"](rows.page(page).row())
        counts["pages"] += 1
        for sentence in rows.sentences(page, counts):
          row, links = sentence.rows()
          write["sentences"](row)
          for link in links:
            write["links"](link)
          counts["sentences"] += 1
          counts["links"] += len(links)
    return counts

  def _path(self, table: tables.TableName, shard: int) -> Path:
    name = f"{table}-{shard:05}-of-{len(self.shards):05}{tables.SUFFIXES[self.form]}"
    return self.folder / name


class _Rows:
  """A maker of rows from pages, with the titles and items of a wiki."""

  def __init__(self, titles: Path, items: Path | None, language: str):
    self._titles = Titles(titles)
    self._items = TitleItems(items, len(self._titles))
    self._language = language
    targets = np.asarray(self._titles.targets)
    redirects = np.flatnonzero((targets != NOWHERE) & (targets != np.arange(len(targets))))
    self._redirects = redirects[np.argsort(targets[redirects], kind="stable")]
    self._leads_to = targets[self._redirects]

  def page(self, page: Page) -> tables.ExportedPage:
    """Returns the row of a page."""
    number, facts = self._titles.table.index(page.title), page.facts
    start, stop = np.searchsorted(self._leads_to, [number, number + 1])
    item = self._item(number) or page.own_id
    return tables.ExportedPage(
      page_id=page.id,
      title=page.title,
      item=item,
      instance_of=tuple(self._items.classes.get(item or "", ())),
      redirects=tuple(self._titles.table[int(x)] for x in self._redirects[start:stop]),
      aliases=self._items.aliases(number),
      disambiguation=page.disambiguation,
      description=facts.description,
      type_phrase=facts.type_phrase,
      first_sentence=facts.first_sentence,
      infobox=facts.infobox,
      categories=facts.categories,
      names=facts.names,
      text="\n".join(paragraph.text for paragraph in page.paragraphs),
      revision=page.revision,
      time=page.time,
    )

  def sentences(self, page: Page, counts: Counter) -> Iterator[tables.ExportedSentence]:
    """Yields the rows of a page's sentences, and counts the links that are in none of them."""
    item, place = self._item(self._titles.table.index(page.title)) or page.own_id, 0
    for number, paragraph in enumerate(page.paragraphs):
      split = split_paragraph(paragraph, self._language)
      counts["dropped: links across sentences"] += split.links_across
      counts["dropped: links without text"] += split.links_empty
      for sentence in split.sentences:
        text, links = self._linked(sentence)
        if not text:
          continue
        yield tables.ExportedSentence(
          page_id=page.id,
          title=page.title,
          item=item,
          section=paragraph.section,
          abstract=paragraph.abstract,
          paragraph=number,
          sentence=place,
          text=text,
          links=links,
          revision=page.revision,
          time=page.time,
        )
        place += 1

  def _linked(self, sentence: Sentence) -> tuple[str, tuple[tables.ExportedLink, ...]]:
    """Returns a sentence's text, and its links with their places in it."""
    whole_text = "".join(sentence.segments)
    at, links = -(len(whole_text) - len(whole_text.lstrip())), []
    rest = iter(zip(sentence.targets, sentence.sources, strict=True))
    for number, segment in enumerate(sentence.segments):
      if number % 2 == 1:
        start = at + len(segment) - len(segment.lstrip())
        links.append(self._link(start, segment.strip(), *next(rest)))
      at += len(segment)
    return whole_text.strip(), tuple(links)

  def _link(self, start: int, text: str, target: str, source: str) -> tables.ExportedLink:
    number = self._titles.table.index(target)
    page = NOWHERE if number == NOWHERE else int(self._titles.targets[number])
    exists = page != NOWHERE
    return tables.ExportedLink(
      start=start,
      end=start + len(text),
      text=text,
      target=self._titles.table[page] if exists else target,
      target_id=int(self._titles.page_ids[page]) if exists else None,
      target_item=self._item(page),
      redirect=target if exists and page != number else None,
      source=source,
    )

  def _item(self, number: int) -> str | None:
    item = NO_ITEM if number == NOWHERE else int(self._items.numbers[number])
    return None if item == NO_ITEM else f"Q{item}"


@functools.lru_cache(maxsize=1)
def _rows(titles: Path, items: Path | None, language: str, key: str) -> _Rows:
  """Returns the maker of rows, which a process keeps for all its shards."""
  return _Rows(titles, items, language)


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
