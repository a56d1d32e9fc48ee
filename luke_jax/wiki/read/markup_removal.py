"""Removes the parts of wikitext that are no text: comments, templates, tables, files, tags.

Each function is one pass from left to right, with a stack where things nest, so its time is linear
even where things are opened and never closed.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

# Stands for a template that was a link's whole text, or its start. XML has no such character.
GAP = "\0"

# Tags whose content is no wikitext: in it MediaWiki looks for the end tag alone.
_OPAQUE = (
  *("ce", "chem", "code", "categorytree", "gallery", "graph", "hiero", "imagemap", "includeonly"),
  *("indicator", "inputbox", "mapframe", "maplink", "math", "nowiki", "pre", "ref", "references"),
  *("score", "source", "syntaxhighlight", "templatedata", "templatestyles", "timeline"),
)
# That a letter has to follow `<` keeps text full of `<` from being compared with every name.
_OPENING = re.compile(rf"<(?:!--|(?=[a-z])({'|'.join(_OPAQUE)})(?=[\s/>])([^<>]*)>)", re.IGNORECASE)
_CLOSING = {name: re.compile(rf"</{name}\s*>", re.IGNORECASE) for name in _OPAQUE}
_DEEPEST = 8  # templates in templates whose text stays: each reads what is in it once more
_BRACES = re.compile(r"(\{\{+|\}\}+)")
_TABLE = re.compile(r"(\n[ \t:*#;]*\{\||\n[ \t]*\|\})")
_HTML_TABLE = re.compile(r"(</?table(?=[\s/>])[^<>]*>)", re.IGNORECASE)
_INLINE = re.compile(
  r"</?(?=[a-z])(?:abbr|b|bdi|bdo|big|chem|cite|code|data|del|dfn|em|font|i|includeonly|indicator"
  r"|ins|kbd|languages|mark|math|noinclude|nowiki|onlyinclude|poem|pre|q|rb|ref|references|rp|rt|rtc|ruby|s"
  r"|samp|section|small|source|span|strike|strong|sub|sup|syntaxhighlight|time|translate|tt|tvar|u"
  r"|var|wbr)(?=[\s/>])[^<>]*>",
  re.IGNORECASE,
)
_BLOCK = re.compile(
  r"</?(?=[a-z])(?:blockquote|br|caption|center|dd|div|dl|dt|gallery|h[1-6]|hr|li|ol|p|table"
  r"|tbody|td|th|thead|timeline|tr|ul)(?=[\s/>])[^<>]*>",
  re.IGNORECASE,
)
_LITERAL = str.maketrans({sign: f"&#{ord(sign)};" for sign in "[]{}'<>=*#:;|_-&"})


def without_comments(text: str, faults: Counter) -> str:
  """Returns wikitext without comments and references, formulas, code and the like.

  The content of nowiki stays, as character references. A comment without an end goes on to the end
  of the text, as in MediaWiki; of any other tag without an end, only the tag itself is removed.
  """
  out, at, unclosed = [], 0, set()
  while match := _OPENING.search(text, at):
    out.append(text[at : match.start()])
    at = match.end()
    if match[1] is None:
      stop = text.find("-->", at)
      if stop < 0:
        faults["unclosed comment"] += 1
        return "".join(out)
      at = stop + 3
      continue
    name = match[1].lower()
    if match[2].endswith("/"):
      continue
    closing = None if name in unclosed else _CLOSING[name].search(text, at)
    if closing is None:
      unclosed.add(name)
      faults["unclosed tag"] += 1
      continue
    if name == "nowiki":
      out.append(text[at : closing.start()].translate(_LITERAL))
    at = closing.end()
  out.append(text[at:])
  return "".join(out)


def without_templates(text: str, faults: Counter, shown: Callable[[Sequence[str]], str]) -> str:
  """Returns wikitext without {{templates}}, {{{parameters}}} and braces that have no partner.

  `shown` returns the text that stays of a template, whose content it gets in parts.
  """
  first, *rest = _BRACES.split(text)
  # Of each run of braces: its place in `out`, its length, how deep templates with text are in it.
  out, open_runs = [first], []
  for token, after in zip(rest[::2], rest[1::2], strict=True):
    if token[0] == "{":
      open_runs.append((len(out), len(token), 0))
      out += ("", after)
      continue
    remaining = len(token)
    while remaining > 1 and open_runs:
      place, length, depth = open_runs.pop()
      used = min(length, remaining, 3)
      remaining -= used
      stays = shown(out[place + 1 :]) if used == 2 and depth < _DEEPEST else ""
      depth = depth + 1 if stays else 0
      del out[place + 1 :]
      if length - used > 1:
        open_runs.append((place, length - used, depth))
        out.append(stays)
        continue
      gap = GAP if out[place - 1].endswith("|") else ""
      out[place] = "{" + stays if length > used else stays or gap
      if depth and open_runs:
        place, length, others = open_runs[-1]
        open_runs[-1] = (place, length, max(depth, others))
    if remaining > 1:
      faults["unopened template"] += 1
    out += ("}", after) if remaining == 1 else (after,)
  if open_runs:
    faults["unclosed template"] += len(open_runs)
  return "".join(out)


def without_tables(text: str, faults: Counter) -> str:
  """Returns wikitext without tables; a table without an end stays as lines.

  The text must start with a newline.
  """
  if "{|" in text or "|}" in text:
    text = _without_nested(_TABLE, text, faults)
  return _without_nested(_HTML_TABLE, text, faults) if "<" in text else text


def _without_nested(pattern: re.Pattern, text: str, faults: Counter) -> str:
  first, *rest = pattern.split(text)
  out, opened = [first], []
  for token, after in zip(rest[::2], rest[1::2], strict=True):
    if not token.endswith("|}") and not token.startswith("</"):
      opened.append(len(out))
      out += (token, after)
    elif opened:
      del out[opened.pop() :]
      out += ("\n", after)
    else:
      faults["unopened table"] += 1
      out += (token, after)
  if opened:
    faults["unclosed table"] += len(opened)
  return "".join(out)


def without_tags(text: str) -> str:
  """Returns wikitext without tags but with their content; a tag that breaks the line is a space."""
  return _BLOCK.sub(" ", _INLINE.sub("", text)) if "<" in text else text


class Brackets(NamedTuple):
  """The patterns that `without_files` needs."""

  hidden: re.Pattern  # the opening of a file or category, with the openings right before it
  any: re.Pattern  # every opening and closing


def brackets(prefixes: list[str]) -> Brackets:
  """Returns the patterns of a wiki with these prefixes of files and categories."""
  names = "|".join(re.escape(prefix).replace(r"\ ", r"[\ _]+") for prefix in prefixes)
  name = rf"[ _]*(?:{names})[ _]*:"
  # Brackets pair from the start of their run on, so an odd run leaves its last bracket over.
  return Brackets(
    re.compile(rf"\[\[(?<!\[\[\[)(?:\[\[)*+{name}", re.IGNORECASE),
    re.compile(rf"\[\[(?:{name})?|\]\]", re.IGNORECASE),
  )


def without_files(text: str, patterns: Brackets) -> str:
  """Returns wikitext without links to files and categories, and without their captions' links.

  A link that seems to go on over a heading counts as not closed.
  """
  cuts: list[tuple[int, int]] = []
  opened: list[int] = []  # the places of open links from a file's on; -1 for a link to no file
  at = 0
  while True:
    if not opened:
      file = patterns.hidden.search(text, at)
      if file is None:
        break
      at = file.end()
      opened.append(text.rfind("[[", file.start(), at))
    token = patterns.any.search(text, at)
    if token is None:
      break
    if text.find("\n=", at, token.start()) >= 0:
      opened.clear()
      at = token.start()
      continue
    at = token.end()
    if token[0] != "]]":
      opened.append(-1 if token[0] == "[[" else token.start())
    elif (place := opened.pop()) >= 0:
      while cuts and cuts[-1][0] > place:
        cuts.pop()
      cuts.append((place, at))
  starts, stops = [0, *(stop for _, stop in cuts)], [*(start for start, _ in cuts), len(text)]
  return "".join([text[i:j] for i, j in zip(starts, stops, strict=True)])
