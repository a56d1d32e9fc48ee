"""Facts that a page states of itself: descriptions, templates, categories, its type in words."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from luke_jax.text.sentences import split_sentences
from luke_jax.wiki.read.dump import Site, folded
from luke_jax.wiki.read.languages import (
  DESCRIPTIONS,
  INFOBOXES,
  LOCAL_DESCRIPTIONS,
  LOCAL_INFOBOXES,
)
from luke_jax.wiki.read.titles import decoded
from luke_jax.wiki.read.type_phrase import type_phrase

_CATEGORY = 14
_LEAD = 1 << 15  # characters in which a page's description, infobox and bold names are looked for
_FIRST = 2000  # characters of a paragraph in which its first sentence ends
_NO_DESCRIPTION = "none"
_BOLD = re.compile(r"'''(?!')([^'\n]{1,120}(?:'(?!'')[^'\n]{1,60}){0,3})'''")
_LINK = re.compile(r"\[\[(?:[^\[\]|\n]*\|)?([^\[\]|\n]*)\]\]")
_MARKUP = re.compile(r"[\[\]{}<>|]")


class Facts(NamedTuple):
  """Statements of a page about itself; `names` are those in bold in its first paragraph."""

  description: str | None = None
  infobox: str | None = None
  categories: tuple[str, ...] = ()
  first_sentence: str | None = None
  type_phrase: str | None = None
  names: tuple[str, ...] = ()


NO_FACTS = Facts()


def facts_of_wikitext(wikitext: str, title: str, first_paragraph: str, site: Site) -> Facts:
  """Returns the facts of a page of a dump, whose first paragraph is given without markup."""
  patterns = _patterns(site)
  lead = wikitext[:_LEAD]
  description = patterns.description.search(lead)
  infobox = patterns.infobox.search(lead)
  bare = facts_of_text(title, first_paragraph, site.language)
  return bare._replace(
    description=_description(description[1] or description[2]) if description else None,
    infobox=" ".join(infobox[1].replace("_", " ").split()) if infobox else None,
    categories=tuple(dict.fromkeys(map(_name, patterns.category.findall(wikitext)))),
    names=_bold_names(lead, first_paragraph),
  )


def facts_of_text(title: str, first_paragraph: str, language: str) -> Facts:
  """Returns the facts of a page without markup: its first sentence, and what that says it is."""
  sentence = first_sentence(first_paragraph, language)
  phrase = type_phrase(sentence, title, language) if sentence else None
  return Facts(first_sentence=sentence or None, type_phrase=phrase)


def first_sentence(paragraph: str, language: str) -> str:
  """Returns the first sentence of a paragraph, with single spaces."""
  text = " ".join(paragraph[:_FIRST].split())
  return split_sentences(text, language)[0].strip() if text else ""


class _Patterns(NamedTuple):
  description: re.Pattern
  infobox: re.Pattern
  category: re.Pattern


@lru_cache(maxsize=8)
def _patterns(site: Site) -> _Patterns:
  names = _alternatives((*DESCRIPTIONS, *LOCAL_DESCRIPTIONS.get(site.language, ())))
  # A template's name is short, and bounds keep text full of `{{` from being read again and again.
  value = r"\s{0,9}\|\s{0,9}(?:1\s{0,9}=\s{0,9})?([^{}|\n]{0,400})"
  description = rf"\{{\{{\s{{0,9}}(?:{names}){value}|\{{\{{SHORTDESC:([^{{}}|\n]{{0,400}})"
  boxes = _alternatives((*INFOBOXES, *LOCAL_INFOBOXES.get(site.language, ())))
  infobox = rf"\{{\{{\s{{0,9}}([^{{}}|\n<>]{{0,80}}?(?:{boxes})[^{{}}|\n<>]{{0,80}})(?=[|}}\n<])"
  prefixes = [prefix for prefix, number in site.namespaces.items() if number == _CATEGORY]
  category = rf"\[\[[ _]{{0,9}}(?:{_alternatives(prefixes)})[ _]{{0,9}}:([^\[\]|\n]{{1,255}})"
  return _Patterns(*(re.compile(x, re.IGNORECASE) for x in (description, infobox, category)))


def _alternatives(names: Sequence[str]) -> str:
  return "|".join(re.escape(name).replace(r"\ ", "[ _]{1,9}") for name in names)


def _description(text: str | None) -> str | None:
  clean = " ".join(decoded(text or "").replace("'''", "").replace("''", "").split())
  return clean if clean and folded(clean) != _NO_DESCRIPTION else None


def _name(category: str) -> str:
  name = " ".join(decoded(category).replace("_", " ").split())
  return name[:1].upper() + name[1:]


def _bold_names(lead: str, first_paragraph: str) -> tuple[str, ...]:
  """Returns the names that are bold before the first heading and in the first paragraph too.

  Templates have bold text too, but what is in them is no text of the page.
  """
  heading = lead.find("\n==")
  names = []
  for bold in _BOLD.findall(lead if heading < 0 else lead[:heading]):
    name = " ".join(decoded(_LINK.sub(r"\1", bold)).replace("''", "").split()).strip('"“”')
    if name and not _MARKUP.search(name) and name in first_paragraph:
      names.append(name)
  return tuple(dict.fromkeys(names))
