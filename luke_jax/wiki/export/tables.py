"""The exported tables: their columns, their files, Parquet or lines of JSON, and their card."""

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

from luke_jax.errors import InputError, not_installed
from luke_jax.files import Path, packaged, whole
from luke_jax.files.copies import local
from luke_jax.formats.files import json_object
from luke_jax.formats.shards import rows, written
from luke_jax.wiki.stages.stage import Done

Form = Literal["parquet", "jsonl"]
SUFFIXES: dict[Form, str] = {"parquet": ".parquet", "jsonl": ".jsonl.gz"}
_EXPECTED = "expected a table of luke-jax wiki export; export an older one's build again"
_ROWS = {"pages": 500, "sentences": 10_000, "links": 10_000}  # of a group, which are in memory
_ALSO = """
## {table}

| column | type | |
|---|---|---|
{rows}
"""
TableName = Literal["pages", "sentences", "links"]
Row = dict[str, Any]
# Kinds of columns, by the names that Arrow has for them.
_TEXT, _INT, _SMALL, _BOOL, _TEXTS = "string", "int64", "int32", "bool", "list<string>"


def _column(kind: str, about: str) -> Any:
  return dataclasses.field(metadata={"kind": kind, "about": about})


@dataclasses.dataclass(frozen=True, slots=True)
class ExportedPage:
  """A page with what it says that it is."""

  page_id: int = _column(_INT, "id in the wiki, or of a text without one a hash of its title")
  title: str = _column(_TEXT, "title")
  item: str | None = _column(_TEXT, "item of Wikidata, Q42")
  instance_of: tuple[str, ...] = _column(_TEXTS, "labels of Wikidata's classes, if known")
  redirects: tuple[str, ...] = _column(_TEXTS, "titles that lead to the page")
  aliases: tuple[str, ...] = _column(_TEXTS, "Wikidata's label and aliases, if known")
  disambiguation: bool = _column(_BOOL, "whether it only lists what the title may mean")
  description: str | None = _column(_TEXT, "short description, from its template")
  type_phrase: str | None = _column(_TEXT, "what the first sentence says that it is")
  first_sentence: str | None = _column(_TEXT, "first sentence, without markup")
  infobox: str | None = _column(_TEXT, "name of the first infobox template")
  categories: tuple[str, ...] = _column(_TEXTS, "categories")
  names: tuple[str, ...] = _column(_TEXTS, "names in bold in the first paragraph")
  text: str = _column(_TEXT, "text, a paragraph on each line")
  revision: int | None = _column(_INT, "id of the revision")
  time: str | None = _column(_TEXT, "time of the revision, UTC")

  def row(self) -> Row:
    """Returns the page as a table's writer takes it."""
    return {name: getattr(self, name) for name in COLUMNS["pages"]}


@dataclasses.dataclass(frozen=True, slots=True)
class ExportedLink:
  """A link in a sentence: characters `start` to before `end` of its text, and where it leads."""

  start: int = _column(_SMALL, "first character in the sentence")
  end: int = _column(_SMALL, "one after the last character")
  text: str = _column(_TEXT, "text of the link")
  target: str = _column(_TEXT, "title of the page that it leads to, after redirects")
  target_id: int | None = _column(_INT, "that page's id; none if there is no such page")
  target_item: str | None = _column(_TEXT, "that page's item of Wikidata")
  redirect: str | None = _column(_TEXT, "title of the redirect that the link leads over")
  source: str = _column(_TEXT, "link, or how a mention was found: own-title, own-short, …")


@dataclasses.dataclass(frozen=True, slots=True)
class ExportedSentence:
  """A sentence of a page with the links that are whole in it."""

  page_id: int = _column(_INT, "id of the page")
  title: str = _column(_TEXT, "title of the page")
  item: str | None = _column(_TEXT, "the page's item of Wikidata")
  section: str = _column(_TEXT, "heading that the sentence is under; empty before the first")
  abstract: bool = _column(_BOOL, "whether it is before the first heading")
  paragraph: int = _column(_SMALL, "number of the paragraph in the page, from 0")
  sentence: int = _column(_SMALL, "number of the sentence in the page, from 0")
  text: str = _column(_TEXT, "text with single spaces")
  links: tuple[ExportedLink, ...] = _column("links", "links, in order")
  revision: int | None = _column(_INT, "id of the page's revision")
  time: str | None = _column(_TEXT, "time of the revision, UTC")

  def rows(self) -> tuple[Row, list[Row]]:
    """Returns the row of the sentence, and the rows of its links in their own table."""
    row = {name: getattr(self, name) for name in COLUMNS["sentences"]}
    row["links"] = [{name: getattr(link, name) for name in _OF_LINK} for link in self.links]
    of_page = {name: row[name] for name in _OF_PAGE}
    return row, [of_page | link for link in row["links"]]


Columns = dict[str, tuple[str, str]]  # name to kind and meaning


def columns_of(row: type) -> Columns:
  """Returns the columns of rows of a class, each with its kind and what it is."""
  fields = dataclasses.fields(row)
  return {field.name: (field.metadata["kind"], field.metadata["about"]) for field in fields}


_OF_LINK = tuple(columns_of(ExportedLink))
_OF_PAGE = ("page_id", "title", "item", "section", "sentence")
_LINKS: Columns = {
  **{name: columns_of(ExportedSentence)[name] for name in _OF_PAGE},
  **columns_of(ExportedLink),
}
COLUMNS: dict[TableName, Columns] = {
  "pages": columns_of(ExportedPage),
  "sentences": columns_of(ExportedSentence),
  "links": _LINKS,
}


def default_form() -> Form:
  """Returns Parquet where it can be written, else JSON."""
  try:
    import pyarrow.parquet  # noqa: F401
  except ImportError:
    return "jsonl"
  return "parquet"


def check_form(form: Form) -> None:
  """Raises InputError for Parquet without pyarrow."""
  if form == "parquet" and default_form() != "parquet":
    raise not_installed("pyarrow", "for Parquet; --form jsonl needs nothing", "arrow")


@contextlib.contextmanager
def table_writer(path: Path, table: TableName, form: Form) -> Iterator[Callable[[Row], None]]:
  """Yields a function that writes a row; the file appears whole at the end."""
  schema, waiting = _schema(table) if form == "parquet" else None, []
  with whole(path) as part, written(part, schema) as write:

    def add(row: Row) -> None:
      waiting.append(row)
      if len(waiting) == _ROWS[table]:
        write(waiting)
        waiting.clear()

    yield add
    if waiting:
      write(waiting)


def table_files(folder: Path, table: TableName) -> list[Path]:
  """Returns the files of a table in the folder that was exported to, in order."""
  for suffix in SUFFIXES.values():
    if files := sorted((folder / "data").glob(f"{table}-*{suffix}")):
      return files
  raise InputError(f"{folder}: no table of {table}; expected a folder of luke-jax wiki export")


def read_rows(
  folder: Path, table: TableName, columns: Sequence[str], shard: int | None = None
) -> Iterator[Row]:
  """Yields the rows of a table or of one of its files, in the order of the pages.

  They have these columns only.
  """
  files = table_files(folder, table)
  for path in files if shard is None else files[shard : shard + 1]:
    for place, read in rows(local(path), columns):
      row = json_object(read, place) if isinstance(read, str) else read
      if lacking := [name for name in columns if name not in row]:
        raise InputError(f"{path}: no column {lacking[0]}; {_EXPECTED}")
      yield {name: row[name] for name in columns}


def _schema(table: TableName) -> Any:
  import pyarrow

  of = {
    "string": pyarrow.string(),
    "int64": pyarrow.int64(),
    "int32": pyarrow.int32(),
    "bool": pyarrow.bool_(),
    "list<string>": pyarrow.list_(pyarrow.string()),
  }
  link = [(name, of[kind]) for name, (kind, _) in columns_of(ExportedLink).items()]
  of["links"] = pyarrow.list_(pyarrow.struct(link))
  return pyarrow.schema([(name, of[kind]) for name, (kind, _) in COLUMNS[table].items()])


def card(site: Mapping[str, Any], done: Done, form: Form, items: bool) -> str:
  """Returns the card of a folder with the tables of a finished stage."""
  suffix, language, counts = SUFFIXES[form], site["language"], done.counts
  configs = "".join(
    f"  - config_name: {table}\n    data_files: data/{table}-*{suffix}\n" for table in COLUMNS
  )
  first = f"{{FOLDER}}/data/pages-00000-of-{len(done.shards):05}{suffix}"
  read = f'read_parquet(f"{first}")' if form == "parquet" else f'read_json(f"{first}", lines=True)'
  name = site["database"] or language
  tables = {**COLUMNS, "links of a sentence": columns_of(ExportedLink)}
  also = [
    _ALSO.format(
      table=table,
      rows="\n".join(f"| {column} | {kind} | {about} |" for column, (kind, about) in of.items()),
    )
    for table, of in tables.items()
  ]
  licence = "cc-by-sa-4.0" if name == f"{language}wiki" else "other"
  about = packaged("wiki/export/card.md").format(
    name=name,
    language=language,
    licence=licence,
    configs=configs,
    rows="\n".join(f"| {table} | {counts.get(table, 0):,} |" for table in COLUMNS),
    items="Items are those of Wikidata." if items else "No items of Wikidata were given.",
    dropped=counts.get("dropped: links across sentences", 0),
    pandas=read,
  )
  return about + "".join(also)
