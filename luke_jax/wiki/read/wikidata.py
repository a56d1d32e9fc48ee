"""Wikidata: its JSON dump, one entity a line, and tables of SQL that say which item a page is."""

import bz2
import gzip
import json
import re
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import IO, Any, NamedTuple

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.wiki.read.dump_files import LONGEST

KINDS = (".json", ".json.gz", ".json.bz2")
_INSTANCE_OF, _SUBCLASS_OF = "P31", "P279"
_ANY = "mul"  # has names that are the same in most languages
_ENTITY = 'expected an entity {"type": …, "id": …}, as in a JSON dump of Wikidata'


class Item(NamedTuple):
  """A subject of pages, with the title of its page in each wiki (`enwiki`) that has one.

  `instance_of` are the ids of its classes. `label` and `aliases` are in the language that was asked
  for, or the same in most, and `may_be_class` is false for what is an instance of classes and a
  subclass of none. `claims` are the items that it has as values of the properties that were asked
  for.
  """

  id: str
  sitelinks: Mapping[str, str]
  instance_of: tuple[str, ...] = ()
  label: str | None = None
  may_be_class: bool = True
  claims: Mapping[str, tuple[str, ...]] = MappingProxyType({})
  aliases: tuple[str, ...] = ()


def check_name(path: Path) -> None:
  """Raises InputError if the path is not named as a dump is, or there is no such file."""
  if not path.name.endswith(KINDS):
    raise InputError(f"{path}: not named as a dump is; expected a name in {', '.join(KINDS)}")
  if not path.is_file():
    raise InputError(f"{path}: no such file; expected a JSON dump of Wikidata")


def read_items(
  file: IO[bytes], path: Path, language: str | None = None, properties: Sequence[str] = ()
) -> Iterator[Item]:
  """Yields the items of a dump; `file` is the file at `path`, opened.

  Their classes, labels, aliases and claims are read only for a language.
  """
  ended = False
  number = 0
  for number, line in enumerate(_lines(file, path), start=1):
    where, text = f"{path}: line {number}", line.strip()
    if ended and text:
      raise InputError(f"{where}: more after the closing ]; expected the end of the dump")
    if number == 1:
      if text != b"[":
        raise InputError(f"{where} is {_short(text)}; expected [, the start of a dump of Wikidata")
    elif text == b"]":
      ended = True
    elif text:
      item = _item(text, where, language, properties)
      if item:
        yield item
  if not ended:
    raise InputError(f"{path}: ends after line {number} without ]; expected a whole dump")


def _lines(file: IO[bytes], path: Path) -> Iterator[bytes]:
  plain = _plain(file, path)
  number = 0
  while True:
    try:
      line = plain.readline(LONGEST)
    except EOFError:
      raise InputError(f"{path}: cut off after line {number}; expected a whole dump") from None
    except (zlib.error, OSError, ValueError) as fault:
      raise InputError(f"{path}: damaged after line {number} ({fault}); expected a dump") from None
    if not line:
      return
    number += 1
    if len(line) == LONGEST:
      raise InputError(f"{path}: line {number} is {LONGEST:,} bytes or more; {_ENTITY}")
    yield line


def _plain(file: IO[bytes], path: Path) -> IO[bytes] | gzip.GzipFile | bz2.BZ2File:
  if path.suffix == ".gz":
    return gzip.GzipFile(fileobj=file)
  return bz2.BZ2File(file) if path.suffix == ".bz2" else file


def _item(text: bytes, where: str, language: str | None, properties: Sequence[str]) -> Item | None:
  """Returns the item in a line, None for an entity of another type."""
  try:
    entity = json.loads(text.removesuffix(b","))
  except (ValueError, RecursionError):  # a UnicodeDecodeError is a ValueError
    raise InputError(f"{where}: {_short(text)} is no JSON; {_ENTITY}") from None
  if not isinstance(entity, dict) or not isinstance(entity.get("id"), str) or "type" not in entity:
    raise InputError(f"{where}: {_short(text)}; {_ENTITY}")
  if entity["type"] != "item":
    return None
  item = Item(entity["id"], _sitelinks(entity.get("sitelinks", {}), where))
  if language is None:
    return item
  try:
    claims = entity.get("claims") or {}  # PHP writes an empty object as a list
    label, aliases = _names(entity, language)
    classes = _values(claims.get(_INSTANCE_OF, []))
    asked = {name: claims[name] for name in properties if name in claims}
  except (AttributeError, TypeError, KeyError):
    raise InputError(f"{where}: labels, aliases or claims; {_ENTITY}") from None
  values = {name: _items_of(name, statements, where) for name, statements in asked.items()}
  may_be_class = _SUBCLASS_OF in claims or not classes
  return Item(item.id, item.sitelinks, classes, label, may_be_class, values, aliases)


def _names(entity: dict[str, Any], language: str) -> tuple[str | None, tuple[str, ...]]:
  """Returns an entity's label in a language, and its aliases."""
  labels, aliases = entity.get("labels") or {}, entity.get("aliases") or {}
  label = (labels.get(language) or labels.get(_ANY) or {}).get("value")
  several = [*aliases.get(language, ()), *aliases.get(_ANY, ())]
  return label, tuple(dict.fromkeys(alias["value"] for alias in several))


def _items_of(name: str, statements: list[dict[str, Any]], where: str) -> tuple[str, ...]:
  try:
    return _values(statements)
  except (AttributeError, TypeError, KeyError):
    raise InputError(f"{where}: {name} has values that are no items; expected items") from None


def _values(statements: list[dict[str, Any]]) -> tuple[str, ...]:
  """Returns the items that statements have as values, the best ranked ones only."""
  ranked: dict[str, list[str]] = {}
  for statement in statements:
    snak = statement["mainsnak"]
    if snak["snaktype"] == "value":
      ranked.setdefault(statement.get("rank", "normal"), []).append(
        snak["datavalue"]["value"]["id"]
      )
  return tuple(ranked.get("preferred") or ranked.get("normal") or ())


def _sitelinks(links: Any, where: str) -> dict[str, str]:
  if links == []:  # PHP writes an empty object like this
    return {}
  try:
    titles = {site: link["title"] for site, link in links.items()}
  except (AttributeError, TypeError, KeyError):
    titles = None
  if titles is None or not all(isinstance(title, str) for title in titles.values()):
    raise InputError(f'{where}: sitelinks; expected {{"enwiki": {{"title": "Tokyo"}}}}')
  return titles


def _short(text: bytes) -> str:
  start = text[:40].decode(errors="replace")
  return repr(start + "…" if len(text) > 40 else start)


def read_names(path: Path, site: str) -> Iterable[tuple[str, str]]:
  """Yields titles with the names of their entities: lines of `title<TAB>Q42`, or Wikidata's dump.

  `site` is the wiki whose titles a dump is asked for, such as enwiki.
  """
  if path.name.endswith(KINDS):
    check_name(path)
    with path.open("rb") as file:
      for item in read_items(file, path):
        if title := item.sitelinks.get(site):
          yield title, item.id
    return
  try:
    with path.open(encoding="utf-8") as lines:
      for number, line in enumerate(lines, start=1):
        title, tab, name = line.rstrip("\n").rpartition("\t")
        if not tab or not title or not name.strip():
          raise InputError(f"{path}: line {number}: {line!r:.60}; expected a title, a tab, a Qid")
        yield title, name.strip()
  except (OSError, UnicodeDecodeError) as fault:
    raise InputError(f"{path}: {fault}; expected titles with their Qids") from None


SQL = (".sql", ".sql.gz")
_PROPERTY = re.compile(rb"\((\d+),'wikibase_item','Q(\d+)'")
_SITE = r"\(\d+,(\d+),'({})','((?:[^'\\]|\\.)*)'\)"
_ESCAPED = re.compile(rb"\\(.)", re.DOTALL)


class PageItem(NamedTuple):
  """The item of a page of the wiki whose `page_props` it is in."""

  page_id: int
  item: int


class Sitelink(NamedTuple):
  """The title of an item's page in a wiki (`enwiki`)."""

  item: int
  site: str
  title: str


def read_sql(file: IO[bytes], path: Path, sites: Collection[str]) -> Iterator[PageItem | Sitelink]:
  """Yields the items of pages in `page_props` or `wb_items_per_site`, in the latter of some wikis.

  `file` is the file at `path`, opened.
  """
  wikis = "|".join(re.escape(site) for site in sorted(sites))
  sitelink = re.compile(_SITE.format(wikis).encode())
  for line in _sql_lines(file, path):
    for page_id, item in _PROPERTY.findall(line):
      yield PageItem(int(page_id), int(item))
    for item, site, title in sitelink.findall(line):
      text = _ESCAPED.sub(rb"\1", title).decode(errors="replace")
      yield Sitelink(int(item), site.decode(), text.replace("_", " "))


def _sql_lines(file: IO[bytes], path: Path) -> Iterator[bytes]:
  try:
    plain = gzip.GzipFile(fileobj=file) if path.name.endswith(".gz") else file
    while line := plain.readline(LONGEST):
      if len(line) == LONGEST:
        raise InputError(f"{path}: a line of {LONGEST:,} bytes or more; expected a table of SQL")
      yield line
  except (EOFError, OSError, zlib.error) as fault:
    raise InputError(f"{path}: cut off or damaged ({fault}); expected a whole file") from None
