"""Sources of a build, dumps of a wiki or texts without links, and the stages that read them.

Texts become the stage `pages`, which then is as that of a dump:

texts --texts--> pages without links, and the forms of their titles --text_names--> the titles that
mean one page --pages--> pages with mentions
"""

import abc
import dataclasses
import functools
import heapq
import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from luke_jax.errors import InputError
from luke_jax.files import Path, read_text, sha256, whole
from luke_jax.wiki.read.dump import Site, read_site, split_dumps
from luke_jax.wiki.read.dump_files import KINDS
from luke_jax.wiki.read.languages import LANGUAGE_PREFIXES
from luke_jax.wiki.read.own_names import base_title
from luke_jax.wiki.read.pages import Page
from luke_jax.wiki.read.texts import (
  TEXTS,
  TextPart,
  form_of,
  page_from_document,
  read_documents,
  split_texts,
  text_files,
)
from luke_jax.wiki.read.type_grammars import GRAMMARS
from luke_jax.wiki.stages.packing import RecordLimits
from luke_jax.wiki.stages.page_stage import MakePages, Shards, shards_of, write_pages
from luke_jax.wiki.stages.plain_mentions import (
  SOURCES,
  TABLE,
  TITLE,
  KnownName,
  PlainMentions,
  as_string,
)
from luke_jax.wiki.stages.shuffle_stage import RECORDS_PER_FILE
from luke_jax.wiki.stages.stage import Done, Stage
from luke_jax.wiki.stages.stored import lines_of
from luke_jax.wiki.stages.tokens import name_of, write_named
from luke_jax.wiki.stages.vocabulary_stage import Selection

# A large part has enough pages to outweigh the start of a shard, small parts occupy all workers.
_LEAST_PART, _MOST_PART, _PARTS = 2**17, 2**25, 16

StageOf = Callable[[Mapping[str, Done]], Stage]
MAX_TOKENS = 20
_LOWER = re.compile(r"[^\W\d_]")


@dataclasses.dataclass(frozen=True)
class Settings:
  """Inputs and options of a build.

  `vocabulary` is a file of existing entities, such as those of several languages; without it the
  most linked pages become entities. `part_size` is the number of bytes that a shard reads. Of
  dumps, `dense_links` links names of a page and of its links wherever they are. Of texts, `names`
  is a table of further names, and `left_out` are sources of mentions.
  """

  dumps: tuple[Path, ...]
  tokenizer: Path
  language: str | None = None
  sections: bool = False
  skip_bad_pages: bool = False
  selection: Selection = dataclasses.field(default_factory=Selection)
  vocabulary: Path | None = None
  limits: RecordLimits = dataclasses.field(default_factory=RecordLimits)
  seed: int = 0
  part_size: int | None = None
  records_per_file: int = RECORDS_PER_FILE
  dense_links: bool = False
  names: Path | None = None
  left_out: tuple[str, ...] = ()


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
      forms = [KnownName(surface, title, source) for _, title, surface, source in group]
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


@dataclasses.dataclass(frozen=True)
class BuildSource(abc.ABC):
  """The files that a build reads, by its settings; `site` is the wiki that the pages are of."""

  settings: Settings
  folder: Path
  site: Site

  @property
  @abc.abstractmethod
  def expected(self) -> str:
    """Returns the content that the files should have, in words, for the fault of those without."""

  @abc.abstractmethod
  def size(self, path: Path) -> int:
    """Returns the number of bytes of a file or folder that the build reads."""

  @abc.abstractmethod
  def stages(self, hashes: Sequence[str]) -> Sequence[StageOf]:
    """Returns the stages up to `pages`, of files with these hashes."""

  def part_size(self) -> int:
    """Returns the number of bytes that a shard reads, approximately."""
    total = sum(map(self.size, self.settings.dumps))
    return self.settings.part_size or min(max(total // _PARTS, _LEAST_PART), _MOST_PART)


class DumpSource(BuildSource):
  """Dumps of a wiki's pages."""

  @property
  def expected(self) -> str:
    """Returns the content that a dump should have, in words."""
    return "a dump of pages-articles, not of titles or of pages without text (stub)"

  def size(self, path: Path) -> int:
    """Returns the size of a file."""
    return path.stat().st_size

  def stages(self, hashes: Sequence[str]) -> Sequence[StageOf]:
    """Returns the stage that makes pages of dumps."""
    parts = tuple(split_dumps(self.settings.dumps, self.part_size()))
    sections, skip_bad = self.settings.sections, self.settings.skip_bad_pages
    dense = self.settings.dense_links
    work = MakePages(self.folder / "pages", parts, self.site, sections, skip_bad, dense)
    made_of = {
      "dumps": list(hashes),
      "pieces": [(part.start, part.stop) for part in parts],
      "sections": sections,
      "site": _site_facts(self.site),
    }
    if skip_bad:
      made_of["skip_bad_pages"] = True
    if dense:
      made_of["dense_links"] = True
    # Titles were longer in version 1, version 2 had no facts, headings and revisions, and version 3
    # no texts of templates.
    stage = Stage(work.folder, len(parts), work, made_of, version=4)
    return [lambda done: stage]


class TextSource(BuildSource):
  """Texts with titles and without links."""

  @property
  def expected(self) -> str:
    """Returns the content that files of texts should have, in words."""
    return "texts under their titles"

  def size(self, path: Path) -> int:
    """Returns the bytes of a file, or of all texts in a folder."""
    return sum(text_files(path).values()) if path.is_dir() else path.stat().st_size

  def stages(self, hashes: Sequence[str]) -> Sequence[StageOf]:
    """Returns the stages that read texts, make the table of names, and find mentions."""
    parts = tuple(split_texts(self.settings.dumps, self.part_size()))
    texts, names, table = self.folder / "texts", self.folder / "text_names", self.settings.names
    left_out = frozenset(self.settings.left_out)
    site = _site_facts(self.site)

    def read(done: Mapping[str, Done]) -> Stage:
      work = MakeTexts(texts, parts, self.site.language, self.settings.skip_bad_pages)
      pieces = [(part.start, part.stop, len(part.names)) for part in parts]
      made_of: dict[str, Any] = {"texts": list(hashes), "pieces": pieces, "site": site}
      if work.skip_bad:
        made_of["skip_bad_pages"] = True
      return Stage(texts, len(parts), work, made_of)

    def named(done: Mapping[str, Done]) -> Stage:
      work = MakeTextNames(names, texts, len(parts), table)
      hashes = {"table": sha256(table)} if table else {}
      return Stage(names, 1, work, {"texts": done["texts"].key, **hashes})

    def linked(done: Mapping[str, Done]) -> Stage:
      key = done["text_names"].key
      shards = shards_of(texts, done["texts"])
      work = LinkTexts(self.folder / "pages", shards, names, key, left_out)
      made_of = {"texts": done["texts"].key, "names": key, "site": site}
      return Stage(work.folder, len(parts), work, made_of | {"left_out": sorted(left_out)})

    return [read, named, linked]


def source_of(settings: Settings, folder: Path) -> BuildSource:
  """Returns the source of the settings; raises InputError for files that do not go together."""
  dumps = settings.dumps
  if not dumps:
    raise InputError("no dump; expected one or more files of a wiki's pages, or texts")
  for path in dumps:
    if not path.is_file() and not path.is_dir():
      expected = f"expected a dump of a wiki's pages, {KINDS}, or {TEXTS}"
      raise InputError(f"{path}: no such file; {expected}")
    if path.is_dir():
      text_files(path)
  if form_of(dumps[0]) is not None:
    return TextSource(settings, folder, _text_site(settings))
  for name, value in (("--names", settings.names), ("--leave-out", settings.left_out)):
    if value:
      raise InputError(f"{name}: for texts without links; expected none with a dump")
  return DumpSource(settings, folder, _site(dumps, settings.language))


def _text_site(settings: Settings) -> Site:
  first, language = settings.dumps[0], settings.language
  if language is None:
    raise InputError(f"{first}: texts, which do not say their language; expected --language, as en")
  if language not in LANGUAGE_PREFIXES:
    raise InputError(f"--language: {language!r}; expected the code of a Wikipedia, such as en")
  if settings.dense_links:
    raise InputError("--dense-links: for dumps, which have links; texts get all mentions anyway")
  if settings.sections:
    raise InputError("--paragraphs sections: texts have none that are known; expected lines")
  unknown = sorted(set(settings.left_out) - set(SOURCES))
  if unknown:
    raise InputError(f"--leave-out: {unknown[0]!r}; expected some of {', '.join(SOURCES)}")
  if settings.names and not settings.names.is_file():
    raise InputError(f"{settings.names}: no such file; expected lines of a name, a tab, a title")
  return Site(language, f"{language}text", True, {}, {})


def _site(dumps: Sequence[Path], language: str | None) -> Site:
  first, *others = [read_site(dump) for dump in dumps]
  for dump, other in zip(dumps[1:], others, strict=True):
    if other.database != first.database:
      raise InputError(
        f"{dump}: a dump of {other.database}; expected {first.database} as in {dumps[0]}"
      )
  # Old dumps have no name. A wiktionary would be read by mistake, a wiki of one's own on purpose.
  if first.database and not first.database.endswith("wiki") and language is None:
    raise InputError(
      f"{dumps[0]}: a dump of {first.database}; expected one of a Wikipedia, or --language for any"
      " other wiki"
    )
  if language is not None and language != first.language:
    raise InputError(
      f"{dumps[0]}: a dump of {first.database} in {first.language!r}; expected --language"
      f" {first.language}, not {language}"
    )
  return first


def _site_facts(site: Site) -> dict[str, Any]:
  """Returns a site as the key of a stage needs it."""
  facts = dataclasses.asdict(site)
  return facts | {
    "names": sorted(site.names.items()),
    "namespaces": sorted(site.namespaces.items()),
  }
