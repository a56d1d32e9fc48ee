"""Writes the tables and the dumps: python -m data.sample_wiki.generate [FOLDER]."""

import random
import sys
from pathlib import Path

from . import extras
from .articles import Article, Library
from .dump import Wiki, write_dump
from .german import GERMAN, Writer
from .invent import SEED, invented
from .sentences import read_templates
from .wikidata import write_wikidata
from .wikitext import Markup
from .world import ENTITIES, FACTS, FOLDER, World, read_world, table_text

NAMESPACES = {
  -2: "Media",
  -1: "Special",
  0: "",
  1: "Talk",
  2: "User",
  3: "User talk",
  4: "Sample Wiki",
  5: "Sample Wiki talk",
  6: "File",
  7: "File talk",
  8: "MediaWiki",
  9: "MediaWiki talk",
  10: "Template",
  11: "Template talk",
  12: "Help",
  13: "Help talk",
  14: "Category",
  15: "Category talk",
  100: "Portal",
  101: "Portal talk",
  828: "Module",
  829: "Module talk",
}
ENGLISH = Wiki("en", "samplewiki", "Sample Wiki", "Main_Page", NAMESPACES)


def write_tables(folder: Path) -> None:
  """Writes the tables of entities and facts."""
  entities, facts = invented()
  (folder / ENTITIES).write_text(table_text(entities), encoding="utf-8")
  (folder / FACTS).write_text(table_text(facts), encoding="utf-8")


def english_articles(world: World) -> list[Article]:
  """The articles, before any markup."""
  library = Library(world, read_templates("en"), SEED)
  return [library.article(entity) for entity in world.pages]


def english_pages(world: World) -> list[extras.Page]:
  """All pages of the English dump, in the order of their ids."""
  targets = extras.redirects(world)
  pages = list(extras.written_pages())
  for article in english_articles(world):
    rng = random.Random(f"markup:{article.entity.title}")
    text = Markup(world, article, rng, targets).page()
    pages.append(extras.Page(article.entity.title, 0, text))
  pages += extras.redirect_pages(targets)
  pages += extras.disambiguation_pages(world, {page.title for page in pages})
  pages += extras.list_pages(world)
  rng = random.Random(SEED)
  pages += extras.talk_pages(world.pages, rng)
  return rng.sample(pages, len(pages))


def main(folder: Path = FOLDER) -> None:
  """Writes everything into a folder."""
  folder.mkdir(parents=True, exist_ok=True)
  write_tables(folder)
  world = read_world(folder)
  write_dump(folder / "samplewiki", ENGLISH, english_pages(world))
  write_dump(folder / "samplewiki-de", GERMAN, list(Writer(world, random.Random(SEED)).pages()))
  write_wikidata(folder / "wikidata-sample.json.bz2", world)


if __name__ == "__main__":
  main(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
