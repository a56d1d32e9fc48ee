"""One entity vocabulary for several languages, whose titles share an id by Wikidata (mLUKE)."""

import json
from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from luke_jax.errors import InputError
from luke_jax.files import Path, read_json, whole
from luke_jax.wiki.read.wikidata import Item
from luke_jax.wiki.stages.stage import MANIFEST, check_made_of, read_finished
from luke_jax.wiki.stages.string_table import ABSENT
from luke_jax.wiki.stages.title_stage import Titles
from luke_jax.wiki.stages.vocabulary_stage import SPECIAL, link_counts


class Language(NamedTuple):
  """The pages of one language's build, with the number of links to each."""

  code: str
  database: str  # the wiki's name in sitelinks
  titles: Titles
  counts: np.ndarray


class Joined(NamedTuple):
  """Items with their languages and pages, those of item i at `starts[i]:starts[i + 1]`."""

  starts: np.ndarray
  languages: np.ndarray
  pages: np.ndarray
  counts: np.ndarray  # an item's links, all languages together

  def __len__(self) -> int:
    return len(self.counts)


def read_languages(folders: Sequence[Path]) -> list[Language]:
  """Returns the pages and links that several builds counted, in the order of the codes."""
  by_code: dict[str, tuple[Path, Language]] = {}
  for folder in folders:
    language = _language(folder)
    if language.code in by_code:
      other, _ = by_code[language.code]
      raise InputError(f"{folder}: in {language.code!r} as {other} is; expected another language")
    by_code[language.code] = folder, language
  return [by_code[code][1] for code in sorted(by_code)]


def join(items: Iterable[Item], languages: Sequence[Language], min_languages: int) -> Joined:
  """Returns the items that are linked in at least `min_languages` of the languages.

  Only pages count: a sitelink to a redirect is about another subject than the redirect's page.
  """
  starts, numbers, pages, counts = array("q", [0]), array("h"), array("i"), array("q")
  taken = [np.zeros(len(language.titles), bool) for language in languages]
  for item in items:
    linked = []
    for number, language in enumerate(languages):
      title = item.sitelinks.get(language.database)
      page = ABSENT if title is None else language.titles.table.index(title)
      if page != ABSENT and language.counts[page] and not taken[number][page]:
        linked.append((number, page))
    if len(linked) < min_languages:
      continue
    for number, page in linked:
      taken[number][page] = True  # an item may occur twice in the dump
      numbers.append(number)
      pages.append(page)
    counts.append(sum(int(languages[number].counts[page]) for number, page in linked))
    starts.append(len(pages))
  return Joined(*(np.frombuffer(x, x.typecode) for x in (starts, numbers, pages, counts)))


def most_linked(joined: Joined, languages: Sequence[Language], size: int) -> np.ndarray:
  """Returns the at most `size` items that become entities, the most linked first, then by title."""
  room = min(size - len(SPECIAL), len(joined))
  if not room:
    wikis = ", ".join(language.database for language in languages)
    raise InputError(
      f"--min-languages: no item has linked pages in so many of {wikis}; expected fewer"
    )
  least = np.partition(joined.counts, len(joined) - room)[len(joined) - room]
  items: list[int] = np.flatnonzero(joined.counts >= least).tolist()
  items.sort(key=lambda item: (-joined.counts[item], titles_of(item, joined, languages)))
  return np.array(items[:room], np.int64)


def titles_of(item: int, joined: Joined, languages: Sequence[Language]) -> list[tuple[str, str]]:
  """Returns each title of an item with its language."""
  titles = slice(joined.starts[item], joined.starts[item + 1])
  pairs = zip(joined.languages[titles].tolist(), joined.pages[titles].tolist(), strict=True)
  return [(languages[number].titles.table[page], languages[number].code) for number, page in pairs]


def write_joined(
  path: Path, items: np.ndarray, joined: Joined, languages: Sequence[Language]
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


def _language(folder: Path) -> Language:
  check_made_of(folder / "counts", "titles")
  counts = read_finished(folder / "counts")
  site = read_json(folder / "pages" / MANIFEST)["made_of"]["site"]
  table = Titles(folder / "titles")
  numbers = link_counts(folder / "counts", len(counts.shards), len(table))
  return Language(site["language"], site["database"], table, numbers)
