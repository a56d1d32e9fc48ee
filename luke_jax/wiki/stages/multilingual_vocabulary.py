"""One entity vocabulary for several languages, whose titles share an id by Wikidata (mLUKE)."""

import json
from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, NamedTuple

import numpy as np

from luke_jax.errors import InputError
from luke_jax.files import Path, read_json, whole
from luke_jax.wiki.read.wikidata import SQL, Sitelink, read_items, read_sql
from luke_jax.wiki.stages.page_stage import Titles
from luke_jax.wiki.stages.stage import MANIFEST, check_made_of, read_finished
from luke_jax.wiki.stages.stored import ABSENT
from luke_jax.wiki.stages.vocabulary_stage import SPECIAL, link_counts, most_linked

EXPECTED = "expected wb_items_per_site.sql.gz of Wikidata, or its JSON dump"


class LanguagePages(NamedTuple):
  """The pages of one language's build, with the number of links to each."""

  code: str
  database: str  # the wiki's name in sitelinks
  titles: Titles
  counts: np.ndarray


class JoinedItems(NamedTuple):
  """Items with their languages and pages, those of item i at `starts[i]:starts[i + 1]`."""

  starts: np.ndarray
  languages: np.ndarray
  pages: np.ndarray
  counts: np.ndarray  # an item's links, all languages together

  def __len__(self) -> int:
    return len(self.counts)


def read_languages(folders: Sequence[Path]) -> list[LanguagePages]:
  """Returns the pages and links that several builds counted, in the order of the codes."""
  by_code: dict[str, tuple[Path, LanguagePages]] = {}
  for folder in folders:
    check_made_of(folder / "counts", "titles")
    counts = read_finished(folder / "counts")
    site = read_json(folder / "pages" / MANIFEST)["made_of"]["site"]
    table = Titles(folder / "titles")
    numbers = link_counts(folder / "counts", len(counts.shards), len(table))
    language = LanguagePages(site["language"], site["database"], table, numbers)
    if language.code in by_code:
      other, _ = by_code[language.code]
      raise InputError(f"{folder}: in {language.code!r} as {other} is; expected another language")
    by_code[language.code] = folder, language
  return [by_code[code][1] for code in sorted(by_code)]


def sitelinks(
  file: IO[bytes], path: Path, languages: Sequence[LanguagePages]
) -> Iterator[tuple[int, int, int]]:
  """Yields items with a language and the number of a title, from a JSON dump or a table of SQL.

  `file` is the file at `path`, opened.
  """
  numbers = {language.database: number for number, language in enumerate(languages)}
  rows = read_sql(file, path, numbers) if path.name.endswith(SQL) else _of_dump(file, path)
  found = False
  for row in rows:
    if isinstance(row, Sitelink) and row.site in numbers:
      found, number = True, numbers[row.site]
      yield row.item, number, languages[number].titles.table.index(row.title)
  if not found:
    raise InputError(f"{path}: no title in {', '.join(numbers)}; {EXPECTED}")


def _of_dump(file: IO[bytes], path: Path) -> Iterator[Sitelink]:
  for item in read_items(file, path):
    if not item.id[1:].isdecimal():
      raise InputError(f"{path}: {item.id!r:.40} is no item; expected Q and a number")
    for site, title in item.sitelinks.items():
      yield Sitelink(int(item.id[1:]), site, title)


def join(
  links: Iterable[tuple[int, int, int]], languages: Sequence[LanguagePages], min_languages: int
) -> JoinedItems:
  """Returns the items that are linked in at least `min_languages` of the languages.

  `links` are items with a language and the number of a title. Only pages count: a sitelink to a
  redirect is about another subject than the redirect's page.
  """
  found = array("q"), array("q"), array("q")  # items, languages, pages
  taken = [np.zeros(len(language.titles), bool) for language in languages]
  for item, number, page in links:
    if page != ABSENT and languages[number].counts[page] and not taken[number][page]:
      taken[number][page] = True  # an item may occur twice in the dump
      for column, value in zip(found, (item, number, page), strict=True):
        column.append(value)
  items, numbers, pages = (np.frombuffer(column, np.int64) for column in found)
  order = np.lexsort((numbers, items))
  items, numbers, pages = items[order], numbers[order], pages[order]
  _, sizes = np.unique(items, return_counts=True)
  kept = np.repeat(sizes >= min_languages, sizes)
  numbers, pages, sizes = numbers[kept], pages[kept], sizes[sizes >= min_languages]
  counts = np.zeros(len(pages), np.int64)
  for number, language in enumerate(languages):
    counts[numbers == number] = language.counts[pages[numbers == number]]
  starts = np.append(0, np.cumsum(sizes))
  return JoinedItems(
    starts, numbers, pages, np.add.reduceat(counts, starts[:-1]) if len(pages) else counts
  )


def selected_items(
  joined: JoinedItems, languages: Sequence[LanguagePages], size: int
) -> np.ndarray:
  """Returns the at most `size` items that become entities, the most linked first, then by title."""
  room = min(size - len(SPECIAL), len(joined))
  if not room:
    wikis = ", ".join(language.database for language in languages)
    raise InputError(
      f"--min-languages: no item has linked pages in so many of {wikis}; expected fewer"
    )
  items = np.arange(len(joined))
  return most_linked(items, joined.counts, room, lambda x: titles_of(x, joined, languages))


def titles_of(
  item: int, joined: JoinedItems, languages: Sequence[LanguagePages]
) -> list[tuple[str, str]]:
  """Returns each title of an item with its language."""
  titles = slice(joined.starts[item], joined.starts[item + 1])
  pairs = zip(joined.languages[titles].tolist(), joined.pages[titles].tolist(), strict=True)
  return [(languages[number].titles.table[page], languages[number].code) for number, page in pairs]


def write_joined(
  path: Path, items: np.ndarray, joined: JoinedItems, languages: Sequence[LanguagePages]
) -> None:
  """Writes the items as an entity vocabulary, the special entities first."""

  def lines() -> Iterator[str]:
    for id, name in enumerate(SPECIAL):
      yield _line(id, [(name, None)], 0)
    for id, item in enumerate(items.tolist(), start=len(SPECIAL)):
      yield _line(id, titles_of(item, joined, languages), int(joined.counts[item]))

  with whole(path) as part, part.open("w", encoding="utf-8", newline="\n") as file:
    file.writelines(lines())


def _line(id: int, entities: Sequence[tuple[str, str | None]], count: int) -> str:
  return json.dumps({"id": id, "entities": entities, "count": count}, ensure_ascii=False) + "\n"
