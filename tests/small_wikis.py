"""Builds of small wikis that tests make up, in any language."""

import html
import json
from pathlib import Path

from luke_jax.wiki.stages.build import build
from luke_jax.wiki.stages.engines import local
from luke_jax.wiki.stages.sources import Settings
from luke_jax.wiki.stages.vocabulary_stage import Selection

TOKENIZER = Path(__file__).parent / "goldens/text/byte_level"
HEAD = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" xml:lang="{language}">
<siteinfo><dbname>{language}wiki</dbname><case>first-letter</case><namespaces>
<namespace key="0" case="first-letter" /></namespaces></siteinfo>
"""
PAGE = """<page><title>{title}</title><ns>0</ns><id>{id}</id>{redirect}<revision><id>{id}</id>
<text xml:space="preserve">{text}</text></revision></page>
"""


def write_dump(dump, pages, language="en"):
  """Writes a dump of pages, title -> wikitext; a text may be a redirect."""
  parts = [HEAD.format(language=language)]
  for id, (title, text) in enumerate(pages.items(), start=1):
    to = text.removeprefix("#REDIRECT [[").removesuffix("]]") if text.startswith("#") else None
    redirect = f'<redirect title="{html.escape(to)}" />' if to else ""
    fields = {"title": html.escape(title), "text": html.escape(text)}
    parts.append(PAGE.format(**fields, id=id, redirect=redirect))
  dump.write_text("".join([*parts, "</mediawiki>\n"]), encoding="utf-8")
  return dump


def build_wiki(folder, pages, language="en", part_size=None):
  """Builds a wiki of pages, title -> wikitext, in a folder; a text may be a redirect."""
  dump = write_dump(folder.with_name(f"{folder.name}.xml"), pages, language)
  settings = Settings((dump,), TOKENIZER, selection=Selection(4), part_size=part_size)
  with local(1) as engine:
    build(settings, folder, engine)
  return folder


def write_wikidata(path, items):
  """Writes entities as a JSON dump: id -> sitelinks, site -> title."""
  entities = [
    {
      "type": "item",
      "id": id,
      "labels": {"en": {"language": "en", "value": f'"{id}" ] \\ é'}},
      "sitelinks": {site: {"site": site, "title": title} for site, title in links.items()},
    }
    for id, links in items.items()
  ]
  lines = ",\n".join(json.dumps(entity) for entity in entities)
  path.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
  return path
