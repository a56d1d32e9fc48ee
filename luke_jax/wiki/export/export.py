"""The stage that exports a build, page by page, and the card beside its tables."""

import contextlib
import dataclasses
import functools
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from luke_jax.errors import InputError
from luke_jax.files import Path, read_json, sample, sha256, whole
from luke_jax.files.locks import locked
from luke_jax.wiki.export.items import (
  NO_ITEM,
  MakeItems,
  TitleItems,
  check_items,
)
from luke_jax.wiki.export.tables import (
  SUFFIXES,
  ExportedLink,
  ExportedPage,
  ExportedSentence,
  Form,
  TableName,
  card,
  check_form,
  default_form,
  table_writer,
)
from luke_jax.wiki.read.pages import Page
from luke_jax.wiki.read.wikidata import KINDS
from luke_jax.wiki.stages.linked_sentences import Sentence, split_paragraph
from luke_jax.wiki.stages.page_stage import Shards, shards_of
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
from luke_jax.wiki.stages.title_stage import NOWHERE, Titles

CARD = "README.md"
_TABLES: tuple[TableName, ...] = ("pages", "sentences", "links")


def export(
  build: Path, output: Path, engine: Engine, *, items: Path | None = None, form: Form | None = None
) -> Done:
  """Exports the pages of a build to a folder as tables with a card, if that is not done."""
  form = form or default_form()
  check_form(form)
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
    tools = _Tools(build / "titles", items_stage.folder if items_stage else None, site["language"])
    key = f"{titles.key} {items_stage.key if items_stage else ''}"
    work = Export(output / "data", shards_of(build / "pages", pages), tools, form, key)
    # Version 1 had no aliases.
    stage = Stage(work.folder, len(work.shards), work, made_of, version=2)
    if items_stage and not finished(stage):
      progress.finish(items_stage, engine)
    done = progress.finish(stage, engine)
    discard(output / "items")
    with whole(output / CARD) as part:
      part.write_text(card(site, done, form, items is not None), encoding="utf-8")
  return done


def _wiki(site: Mapping[str, str]) -> str:
  """Returns the name of the wiki in sitelinks; a build of texts has that of its language."""
  database = site["database"]
  return database if database.endswith("wiki") else f"{site['language']}wiki"


def _items_stage(build: Path, output: Path, items: Path, site: Mapping[str, str]) -> Stage:
  database, titles = _wiki(site), read_finished(build / "titles").key
  work = MakeItems(output / "items", build / "titles", items, database, site["language"])
  # All of Wikidata is not hashed for a day first.
  state = sample(items).hex()[:200] if items.name.endswith(KINDS) else sha256(items)
  made_of = {"titles": titles, "items": state, "database": database}
  return Stage(work.folder, 1, work, made_of, version=2)  # version 1 had no aliases


class _Tools(NamedTuple):
  """Folders that the tables read beside the pages, and the language of the text."""

  titles: Path
  items: Path | None
  language: str


@dataclasses.dataclass(frozen=True)
class Export:
  """The function of a shard: writes the rows of its pages to a file of each table."""

  folder: Path
  shards: Shards
  tools: _Tools
  form: Form
  key: str

  def __call__(self, shard: int) -> Mapping[str, int]:
    """Writes the files, and returns the number of rows and of links that are left out."""
    rows = _rows(self.tools, self.key)
    counts: Counter[str] = Counter(dict.fromkeys(_TABLES, 0))
    with contextlib.ExitStack() as stack:
      write = {
        table: stack.enter_context(table_writer(self._path(table, shard), table, self.form))
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

  def _path(self, table: TableName, shard: int) -> Path:
    name = f"{table}-{shard:05}-of-{len(self.shards):05}{SUFFIXES[self.form]}"
    return self.folder / name


class _Rows:
  """A maker of rows from pages, with the titles and items of a wiki."""

  def __init__(self, tools: _Tools):
    self._titles = Titles(tools.titles)
    self._items = TitleItems(tools.items, len(self._titles))
    self._language = tools.language
    targets = np.asarray(self._titles.targets)
    redirects = np.flatnonzero((targets != NOWHERE) & (targets != np.arange(len(targets))))
    self._redirects = redirects[np.argsort(targets[redirects], kind="stable")]
    self._leads_to = targets[self._redirects]

  def page(self, page: Page) -> ExportedPage:
    """Returns the row of a page."""
    number, facts = self._titles.table.index(page.title), page.facts
    start, stop = np.searchsorted(self._leads_to, [number, number + 1])
    item = self._item(number) or page.own_id
    return ExportedPage(
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

  def sentences(self, page: Page, counts: Counter) -> Iterator[ExportedSentence]:
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
        yield ExportedSentence(
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

  def _linked(self, sentence: Sentence) -> tuple[str, tuple[ExportedLink, ...]]:
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

  def _link(self, start: int, text: str, target: str, source: str) -> ExportedLink:
    number = self._titles.table.index(target)
    page = NOWHERE if number == NOWHERE else int(self._titles.targets[number])
    exists = page != NOWHERE
    return ExportedLink(
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
def _rows(tools: _Tools, key: str) -> _Rows:
  """Returns the maker of rows, which a process keeps for all its shards."""
  return _Rows(tools)
