"""Pages without markup, and their form as bytes."""

import json
from collections import Counter
from typing import Any, NamedTuple

from luke_jax.wiki.read.dump import RawPage, Site
from luke_jax.wiki.read.facts import NO_FACTS, Facts, facts_of_wikitext
from luke_jax.wiki.read.markup import LINK, PageLink, Paragraph, read_wikitext
from luke_jax.wiki.read.titles import normalized


class Page(NamedTuple):
  """A page of a dump as text with links.

  A redirect has no paragraphs, and one that leads out of the wiki is None as `redirect` too.
  """

  id: int
  title: str
  redirect: str | None
  disambiguation: bool
  paragraphs: tuple[Paragraph, ...]
  facts: Facts = NO_FACTS
  revision: int | None = None
  time: str | None = None  # of the revision
  own_id: str | None = None  # of a text that is an entry of a catalogue


def page_from_raw(
  raw: RawPage, site: Site, *, sections: bool = False, faults: Counter | None = None
) -> Page:
  """Returns a page of a dump without its markup; `faults` counts by kind what cannot be read."""
  faults = Counter() if faults is None else faults
  title = normalized(raw.title, site)
  if title is None:
    faults["title that MediaWiki does not allow"] += 1
    title = raw.title
  version = {"revision": raw.revision, "time": raw.time}
  if raw.redirect is not None:
    target = normalized(raw.redirect, site)
    if target is None:
      faults["redirect out of the wiki"] += 1
    return Page(raw.id, title, target, False, (), **version)
  text = read_wikitext(raw.text, site, sections=sections, faults=faults)
  first = text.paragraphs[0].text if text.paragraphs else ""
  facts = facts_of_wikitext(raw.text, title, first.partition("\n")[0], site)
  paragraphs = tuple(text.paragraphs)
  return Page(raw.id, title, None, text.disambiguation, paragraphs, facts, **version)


def page_to_bytes(page: Page) -> bytes:
  """Returns a page as JSON in UTF-8."""
  rows = [
    (text, [link if link.source != LINK else link[:-1] for link in links], abstract, section)
    for text, links, abstract, section in page.paragraphs
  ]
  fields = list(page._replace(paragraphs=tuple(rows)))  # pyrefly: ignore[bad-argument-type]
  if page.own_id is None:
    del fields[-1]
  return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode(
    errors="surrogatepass"
  )


def page_from_bytes(data: bytes) -> Page:
  """Returns the page that `page_to_bytes` wrote."""
  id, title, redirect, disambiguation, rows, facts, *version = json.loads(data)
  paragraphs = tuple(
    Paragraph(text, tuple([PageLink(*link) for link in links]), abstract, section)
    for text, links, abstract, section in rows
  )
  return Page(id, title, redirect, disambiguation, paragraphs, _facts(*facts), *version)


def _facts(
  description: str | None, infobox: str | None, categories: list[str], *rest: Any
) -> Facts:
  sentence, phrase, names = rest
  return Facts(description, infobox, tuple(categories), sentence, phrase, tuple(names))
