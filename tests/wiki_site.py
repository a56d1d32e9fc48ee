"""Dumps of small wikis, for tests."""

import tempfile
from pathlib import Path
from xml.sax.saxutils import escape

from luke_jax.wiki.read.dump import Site, read_site
from luke_jax.wiki.read.markup import read_wikitext

LOCAL = {
  "en": {4: "Wikipedia", 6: "File", 14: "Category"},
  "de": {1: "Diskussion", 4: "Wikipedia", 6: "Datei", 14: "Kategorie"},
  "nl": {1: "Overleg", 4: "Wikipedia", 6: "Bestand", 10: "Sjabloon", 14: "Categorie"},
  "ru": {1: "Обсуждение", 4: "Википедия", 6: "Файл", 10: "Шаблон", 14: "Категория"},
  "ar": {1: "نقاش", 4: "ويكيبيديا", 6: "ملف", 14: "تصنيف"},
  "ja": {1: "ノート", 6: "ファイル", 14: "Category"},
  "tr": {1: "Tartışma", 6: "Dosya", 10: "Şablon", 14: "Kategori"},
  "zh": {4: "Wikipedia", 6: "File", 14: "Category"},
}
ENGLISH = {-2: "Media", -1: "Special", 1: "Talk", 2: "User", 6: "File", 10: "Template"}


def siteinfo(language="en", case="first-letter"):
  names = ENGLISH | LOCAL.get(language, {})
  lines = "".join(
    f'<namespace key="{key}" case="{case}">{name}</namespace>' for key, name in names.items()
  )
  return (
    '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" '
    f'xml:lang="{language}">\n  <siteinfo>\n    <dbname>{language}wiki</dbname>\n'
    f'    <case>{case}</case>\n    <namespaces><namespace key="0" case="{case}" />{lines}'
    "</namespaces>\n  </siteinfo>\n"
  )


def page(id, title, text, *, redirect=None, namespace=0):
  """A page's element, laid out as MediaWiki does."""
  to = f'\n    <redirect title="{escape(redirect, {chr(34): "&quot;"})}" />' if redirect else ""
  return (
    f"  <page>\n    <title>{escape(title)}</title>\n    <ns>{namespace}</ns>\n    <id>{id}</id>{to}"
    f"\n    <revision>\n      <id>{id + 1000}</id>\n      <contributor><id>7</id></contributor>\n"
    f'      <text bytes="{len(text.encode())}" xml:space="preserve">{escape(text)}</text>\n'
    "    </revision>\n  </page>\n"
  )


def dump(pages, language="en", case="first-letter"):
  return f"{siteinfo(language, case)}{''.join(pages)}</mediawiki>\n"


def site(language="en", case="first-letter") -> Site:
  with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "dump.xml"
    path.write_text(dump([], language, case), encoding="utf-8")
    return read_site(path)


def paragraphs(wikitext, site, **options):
  """The visible text of a page."""
  return read_wikitext(wikitext, site, **options).paragraphs
