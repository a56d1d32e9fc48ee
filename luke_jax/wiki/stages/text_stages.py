"""Stages from texts without links to the stage `pages`, which then is as that of a dump.

texts --texts--> pages without links, and the forms of their titles --text_names--> the titles that
mean one page --pages--> pages with mentions
"""

import dataclasses
import functools
import heapq
import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from luke_jax.errors import InputError
from luke_jax.files import Path, whole
from luke_jax.text.json_files import read_text
from luke_jax.wiki.read.own_names import base_title
from luke_jax.wiki.read.pages import Page
from luke_jax.wiki.read.texts import TextPart, page_from_document, read_documents
from luke_jax.wiki.read.type_grammars import GRAMMARS
from luke_jax.wiki.stages.files import lines_of
from luke_jax.wiki.stages.names import write_named
from luke_jax.wiki.stages.page_stage import Shards, write_pages
from luke_jax.wiki.stages.plain_mentions import TABLE, TITLE, Known, PlainMentions, as_string
from luke_jax.wiki.stages.tokens import name_of

MAX_TOKENS = 20
_LOWER = re.compile(r"[^\W\d_]")


@dataclasses.dataclass(frozen=True)
class MakeTexts:
  """The function of a shard: reads one part of the texts."""

  folder: Path
  parts: tuple[TextPart, ...]
  language: str
  skip_bad: bool = False

  def __call__(self, shard: int) -> Mapping[str, int]:
    """Writes the pages of a part, and the forms of their titles in order."""
    faults, forms = Counter(), []

    def pages() -> Iterator[Page]:
      documents = read_documents(self.parts[shard], faults=faults, skip_bad=self.skip_bad)
      for document in documents:
        page = page_from_document(document, self.language)
        forms.extend(title_forms(page, self.language))
        yield page

    written = write_pages(self.folder, shard, len(self.parts), pages())
    with whole(_forms_path(self.folder, shard)) as part:
      part.write_bytes(b"".join(sorted(set(forms))))
    return {**written, **{f"fault: {kind}": number for kind, number in faults.items()}}


@dataclasses.dataclass(frozen=True)
class MakeTextNames:
  """The function of the only shard: makes the table of names that mean one page wherever they are.

  Forms of titles are merged from all shards; a table of the user's is in memory.
  """

  folder: Path
  texts: Path
  shards: int
  table: Path | None = None

  def __call__(self, shard: int) -> Mapping[str, int]:
    """Writes the names, and returns how many there are, by source, and how many mean several."""
    counts: Counter = Counter({TITLE: 0, TABLE: 0, "ambiguous": 0})
    files = [lines_of(_forms_path(self.texts, number)) for number in range(self.shards)]
    if self.table:
      files.append(iter(sorted(set(_table_forms(self.table)))))
    write_named(self.folder, self._names(heapq.merge(*files), counts))
    return counts

  def _names(self, lines: Iterable[bytes], counts: Counter) -> Iterator[tuple[str, str]]:
    rows = (line.decode(errors="surrogatepass").rstrip("\n").split("\t") for line in lines)
    for name, group in itertools.groupby(rows, key=lambda row: row[0]):
      forms = [Known(surface, title, source) for _, title, surface, source in group]
      if len({form.title for form in forms}) > 1:
        counts["ambiguous"] += 1
        continue
      usable = sorted((form for form in forms if form.surface), key=lambda x: x.source != TITLE)
      if usable:
        counts[usable[0].source] += 1
        yield name, as_string(usable[0])


@dataclasses.dataclass(frozen=True)
class LinkTexts:
  """The function of a shard: finds the mentions in its texts."""

  folder: Path
  texts: Shards
  names: Path
  key: str  # of the names
  left_out: frozenset[str] = frozenset()

  def __call__(self, shard: int) -> Mapping[str, int]:
    """Writes the pages with their mentions, and returns the counts of each source."""
    counts, finder = Counter(), _finder(self.names, self.key, self.left_out)

    def pages() -> Iterator[Page]:
      for page in self.texts.read_pages(shard):
        linked = finder.linked(page)
        counts.update([f"mentions: {x.source}" for y in linked.paragraphs for x in y.links])
        yield linked

    return {**write_pages(self.folder, shard, len(self.texts), pages()), **counts}


@functools.lru_cache(maxsize=1)
def _finder(names: Path, key: str, left_out: frozenset[str]) -> PlainMentions:
  return PlainMentions(names, left_out)


def title_forms(page: Page, language: str) -> Iterator[bytes]:
  """Yields the forms of a page's title as lines: compared form, title, form in texts, source.

  The form in texts is empty for those that other titles may mean too, as the parenthesis of a
  title says, and for titles of less than two words with capitals.
  """
  grammar = GRAMMARS.get(language)
  base = base_title(page.title)
  name = name_of(base, MAX_TOKENS)
  if name is None or "\t" in page.title:
    return
  means_itself = base == page.title and not page.disambiguation
  is_list = grammar is not None and grammar.lists.match(page.title)
  surface = base if means_itself and not is_list and _is_name(base) else ""
  yield _line(name, page.title, surface, TITLE)


def _is_name(title: str) -> bool:
  """Returns whether a title has two words with capitals and no other words than small ones."""
  words = [word for word in title.replace(",", " ").split() if _LOWER.match(word)]
  capital = [word for word in words if not word[0].islower()]
  return len(capital) > 1 and all(len(x) < 5 for x in words if x[0].islower())


def _table_forms(path: Path) -> Iterator[bytes]:
  for number, line in enumerate(read_text(path).split("\n"), start=1):
    if not line.strip():
      continue
    surface, _, title = (part.strip() for part in line.partition("\t"))
    name = name_of(surface, MAX_TOKENS)
    if not title or "\t" in title or name is None:
      raise InputError(
        f"{path}: line {number}: {line!r:.60}; expected a name of at most {MAX_TOKENS} tokens, a"
        " tab, and the title of the page that it means"
      )
    yield _line(name, title, surface, TABLE)


def _line(name: str, title: str, surface: str, source: str) -> bytes:
  return f"{name}\t{title}\t{surface}\t{source}\n".encode(errors="surrogatepass")


def _forms_path(folder: Path, shard: int) -> Path:
  return folder / f"forms-{shard:05}.tsv"
