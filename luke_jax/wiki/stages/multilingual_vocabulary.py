"""One entity vocabulary of several languages, whose titles share an id by Wikidata (mLUKE)."""

import json
from array import array
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from luke_jax.errors import InputError
from luke_jax.files import read_json, whole
from luke_jax.wiki.read.wikidata import Item
from luke_jax.wiki.stages.stage import MANIFEST, check_made_of, read_finished
from luke_jax.wiki.stages.string_table import ABSENT
from luke_jax.wiki.stages.title_stage import Titles
from luke_jax.wiki.stages.vocabulary_stage import SPECIAL, link_counts


class Language(NamedTuple):
  """The pages of a build, and how often each is linked."""

  code: str
  database: str  # the wiki's name in sitelinks
  titles: Titles
  counts: np.ndarray


class Joined(NamedTuple):
  """Items with the languages and pages of each, item i's at `starts[i]:starts[i + 1]`."""

  starts: np.ndarray
  languages: np.ndarray
  pages: np.ndarray
  counts: np.ndarray  # of an item's links, all languages together

  def __len__(self) -> int:
    return len(self.counts)


def read_languages(folders: Sequence[Path]) -> list[Language]:
  """What the builds of several languages counted, in the order of the languages' codes."""
  found: dict[str, tuple[Path, Language]] = {}
  for folder in folders:
    language = _language(folder)
    if language.code in found:
      other, _ = found[language.code]
      raise InputError(f"{folder}: in {language.code!r} as {other} is; expected another language")
    found[language.code] = folder, language
  return [found[code][1] for code in sorted(found)]


def join(items: Iterable[Item], languages: Sequence[Language], min_languages: int) -> Joined:
  """The items that are linked in so many of the languages.

  Only pages count: a sitelink to a redirect is about something else than the page it leads to.
  """
  starts, spoken, pages, counts = array("q", [0]), array("h"), array("i"), array("q")
  taken = [np.zeros(len(language.titles), bool) for language in languages]
  for item in items:
    found = []
    for number, language in enumerate(languages):
      title = item.sitelinks.get(language.database)
      page = ABSENT if title is None else language.titles.table.index(title)
      if page != ABSENT and language.counts[page] and not taken[number][page]:
        found.append((number, page))
    if len(found) < min_languages:
      continue
    for number, page in found:
      taken[number][page] = True  # an item that stands twice in the dump
      spoken.append(number)
      pages.append(page)
    counts.append(sum(int(languages[number].counts[page]) for number, page in found))
    starts.append(len(pages))
  return Joined(*(np.frombuffer(x, x.typecode) for x in (starts, spoken, pages, counts)))


def most_linked(joined: Joined, languages: Sequence[Language], size: int) -> np.ndarray:
  """The items that become entities, the most linked first, those linked equally often by title."""
  room, missing = size - len(SPECIAL), size - len(SPECIAL) - len(joined)
  if missing > 0:
    wikis = ", ".join(language.database for language in languages)
    raise InputError(
      f"--entities {size}: only {len(joined)} items have linked pages in enough of {wikis};"
      f" expected at most {size - missing}, of which {len(SPECIAL)} are special, or fewer"
      " --min-languages"
    )
  least = np.partition(joined.counts, len(joined) - room)[len(joined) - room]
  items: list[int] = np.flatnonzero(joined.counts >= least).tolist()
  items.sort(key=lambda item: (-joined.counts[item], titles_of(item, joined, languages)))
  return np.array(items[:room], np.int64)


def titles_of(item: int, joined: Joined, languages: Sequence[Language]) -> list[tuple[str, str]]:
  """Each title of an item with its language."""
  found = slice(joined.starts[item], joined.starts[item + 1])
  pairs = zip(joined.languages[found].tolist(), joined.pages[found].tolist(), strict=True)
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
