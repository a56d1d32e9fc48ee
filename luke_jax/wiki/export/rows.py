"""The rows of the exported tables: what each column is, in Python and in a file."""

import dataclasses
from typing import Any, Literal

TableName = Literal["pages", "sentences", "links"]
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


Row = dict[str, Any]


def page_row(page: ExportedPage) -> Row:
  """Returns the row of a page as a table's writer takes it."""
  return {name: getattr(page, name) for name in COLUMNS["pages"]}


def sentence_rows(sentence: ExportedSentence) -> tuple[Row, list[Row]]:
  """Returns the row of a sentence, and the rows of its links in their own table."""
  row = {name: getattr(sentence, name) for name in COLUMNS["sentences"]}
  row["links"] = [{name: getattr(link, name) for name in _OF_LINK} for link in sentence.links]
  of_page = {name: row[name] for name in _OF_PAGE}
  return row, [of_page | link for link in row["links"]]
