"""The dumps of the sample wiki as plain values, for its tests."""

import bz2
import re
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

from data.sample_wiki.world import FOLDER

SPACE = "{http://www.mediawiki.org/xml/export-0.11/}"
LINK = re.compile(r"\[\[:?([^\[\]|#]*)(?:#[^\[\]|]*)?(?:\|([^\[\]]*))?\]\]")


class DumpedPage(NamedTuple):
  title: str
  namespace: int
  id: int
  redirect: str
  text: str


def read_dump(name: str) -> tuple[ElementTree.Element, list[DumpedPage]]:
  root = ElementTree.fromstring(bz2.decompress(dump_path(name).read_bytes()))
  pages = []
  for page in root.iter(f"{SPACE}page"):
    field = {child.tag.removeprefix(SPACE): child for child in page}
    redirect = field["redirect"].get("title", "") if "redirect" in field else ""
    text = field["revision"].findtext(f"{SPACE}text") or ""
    numbers = int(field["ns"].text or ""), int(field["id"].text or "")
    pages.append(DumpedPage(field["title"].text or "", *numbers, redirect, text))
  return root, pages


def dump_path(name: str) -> Path:
  return FOLDER / f"{name}-pages-articles-multistream.xml.bz2"


def links(text: str, redirects: dict[str, str]) -> list[tuple[str, str]]:
  """Text and final target of each link."""
  found = []
  for match in LINK.finditer(re.sub("<nowiki>.*?</nowiki>", "", text)):
    title = match[1].replace("_", " ").strip()
    title = title[:1].upper() + title[1:]
    for _ in range(3):
      title = redirects.get(title, title)
    found.append((match[2] or match[1], title))
  return found
