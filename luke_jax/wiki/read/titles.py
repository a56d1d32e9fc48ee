"""Titles of pages as MediaWiki writes them.

The first letter becomes a capital in a wiki that does so, if its capital is one letter: ß, ŉ and
the like stay, as do Georgian letters and the digraphs in title case (ǅ). In Turkish and
Azerbaijani the capital of i is İ.
"""

import itertools
import re
import unicodedata
from html.entities import html5
from typing import Literal, NamedTuple
from urllib.parse import unquote

from luke_jax.wiki.read.dump import Site, folded
from luke_jax.wiki.read.languages import DOTTED_I, LANGUAGE_PREFIXES, PROJECT_PREFIXES

_QUICK = 256  # characters that Python normalizes in a few microseconds, whatever they are


def normalized_form(form: Literal["NFC", "NFD"], text: str) -> str:
  """Returns the text in a normal form.

  Python sorts a run of combining marks in a time that grows with the square of its length, so
  longer texts get theirs sorted first.
  """
  return unicodedata.normalize(form, text if len(text) <= _QUICK else _sorted_marks(text))


def _sorted_marks(text: str) -> str:
  """Returns the text decomposed and its marks in the canonical order, which is no other text."""
  decomposed = "".join([unicodedata.normalize("NFD", character) for character in text])
  runs = itertools.groupby(decomposed, key=lambda character: unicodedata.combining(character) > 0)
  return "".join(
    ["".join(sorted(run, key=unicodedata.combining) if marks else run) for marks, run in runs]
  )


# A title of these alone only needs its capital: letters that no mark combines with, single spaces
# and a little punctuation.
_LETTERS = (
  "A-Za-z0-9(),'!\\-\u00c0-\u024f\u0388-\u03ff\u0400-\u0481\u048a-\u052f\u05d0-\u05ea\u0620-\u064a"
  "\u2013\u3041-\u3096\u30a1-\u30fc\u4e00-\u9fff\uac00-\ud7a3"
)
_SIMPLE = re.compile(f"[{_LETTERS}]++(?: [{_LETTERS}]++)*+")

_DIRECTIONS = re.compile("[\u200e\u200f\u202a-\u202e]")
_SPACES = re.compile("[ _\u00a0\u1680\u180e\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+")
_ILLEGAL = re.compile(
  "[\\x00-\\x1f\\x7f#<>\\[\\]{}|\ufffd]|~~~|%[0-9A-Fa-f]{2}"
  "|&(?:[A-Za-z0-9\u0080-\U0010ffff]+|#[0-9]+|#x[0-9A-Fa-f]+);"
)
_RELATIVE = re.compile(r"\.\.?(?:/.*)?|.*/\.\.?(?:/.*)?", re.DOTALL)
_ENTITY = re.compile(r"&(?:#([0-9]{1,7})|#[xX]([0-9A-Fa-f]{1,6})|([A-Za-z][A-Za-z0-9]{1,31}));")
_LONGEST = 255  # bytes of UTF-8
_LONGEST_TARGET = 4096  # characters, with a section and escapes


class Target(NamedTuple):
  """A page of this wiki that a link leads to; its title is None if the link leads elsewhere."""

  title: str | None
  namespace: int = 0
  elsewhere: bool = False  # in a Wikipedia of another language
  colon: bool = False  # written with a leading colon, which makes the link visible


def normalized(title: str, site: Site) -> str | None:
  """Returns the canonical form of a page's title or a link's target; None if it is no page's."""
  return parse_target(title, site).title


def parse_target(target: str, site: Site) -> Target:
  """Returns the page, namespace and wiki that a link's target names."""
  if _SIMPLE.fullmatch(target):
    return Target(
      _capitalised(target, site) if len(target) <= _LONGEST // 3 else _legal(target, site)
    )
  if len(target) > _LONGEST_TARGET:
    return Target(None)
  text = unquote(target) if "%" in target else target
  text = normalized_form("NFC", _DIRECTIONS.sub("", decoded(text)))
  text = _SPACES.sub(" ", text).strip(" ")
  colon = text.startswith(":")
  text = text[colon:].lstrip(" ")
  while ":" in text:
    prefix, _, rest = text.partition(":")
    key = folded(prefix)
    if key in site.namespaces:
      return _in_namespace(site.namespaces[key], rest, site)._replace(colon=colon)
    if key == site.language:
      text = rest.strip(" ")
    elif key in LANGUAGE_PREFIXES:
      return Target(None, elsewhere=True, colon=colon)
    elif key in PROJECT_PREFIXES:
      return Target(None, colon=colon)
    else:
      break
  return Target(_legal(text, site), colon=colon)


def decoded(text: str) -> str:
  """Returns text with its character references, such as &nbsp; and &#8211;, as characters."""
  return _ENTITY.sub(_character, text) if "&" in text else text


def _character(match: re.Match) -> str:
  decimal, hexadecimal, name = match.groups()
  if name:
    return html5.get(f"{name};", match[0])
  code = int(decimal) if decimal else int(hexadecimal, 16)
  allowed = code in (9, 10, 13) or 32 <= code < 0xD800 or 0xE000 <= code < 0x110000
  return chr(code) if allowed else match[0]


def _in_namespace(namespace: int, rest: str, site: Site) -> Target:
  title = _legal(rest.strip(" "), site)
  name = site.names.get(namespace, "")
  if title is None or not name:
    return Target(title, namespace)
  return Target(f"{name}:{title}", namespace)


def _legal(text: str, site: Site) -> str | None:
  """Returns a title without its section, or None if MediaWiki does not allow it."""
  text = text.partition("#")[0].rstrip(" ")
  if not text or text.startswith(":") or _ILLEGAL.search(text) or _RELATIVE.fullmatch(text):
    return None
  if len(text.encode(errors="replace")) > _LONGEST:
    return None
  return _capitalised(text, site)


def _capitalised(text: str, site: Site) -> str:
  first = text[0]
  if not site.capitalised or "A" <= first <= "Z":
    return text
  if first == "i" and site.language in DOTTED_I:
    return "İ" + text[1:]
  capital = first.upper()
  stays = len(capital) > 1 or "\u10d0" <= first <= "\u10ff" or unicodedata.category(first) == "Lt"
  return text if stays else capital + text[1:]
