"""Turns wikitext into paragraphs with links.

Paragraphs are lines and links are what wikipedia2vec 1.0 makes of them, which LUKE's corpus was
built with: no templates, tables, references, comments or headings; a link's text is its label, and
letters that follow it (`[[car]]s`) are text outside of it. Differences, each towards what a reader
of the page sees:

- wikipedia2vec keeps the content of the tags b, i and u alone. Here all tags of inline or running
  text keep theirs (small, sub, sup, span, blockquote, div …), and br is a space. Both remove
  formulas, code, galleries, timelines, scores and the like.
- Templates that are part of sentences, such as {{lang|fr|…}} and {{convert|5|km|mi}}, leave their
  text (`template_forms.py` lists them); wikipedia2vec removes them all.
- Character references (`&nbsp;`, `&ndash;`) become characters; wikipedia2vec removes them.
- Links to files are removed with their captions, and so are category and interlanguage links;
  wikipedia2vec keeps them as text. Links to other projects, to sections of the page and to
  impossible titles are plain text.
- Of a table or template without an end, or a link with too few brackets, the signs are removed and
  the words stay, but for lines that start with | or {|; `faults` counts each.
"""

import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from luke_jax.wiki.read import markup_removal as removal
from luke_jax.wiki.read.dump import Site
from luke_jax.wiki.read.languages import DISAMBIGUATION, LANGUAGES, WITH_VARIANTS, Language
from luke_jax.wiki.read.templates import Templates
from luke_jax.wiki.read.titles import decoded, parse_target

_LABEL = r"[^\[\]]*+(?:(?:\[(?!\[)|\](?!\]))[^\[\]]*+)*+"
_LINK = re.compile(rf"\[\[([^\[\]|\n{{}}<>]++)(?:\|({_LABEL}))?\]\]")
_BROKEN_LABEL = re.compile(r"\[\[[^\[\]|\n]++\|[^\[\]\n]*+\n[^\[\]]*+\]\]")
_EXTERNAL = re.compile(
  r"\[(?:(?:https?|ftps?|ircs?|git|svn|gopher|news|nntp|mms|telnet):|mailto:|//)"
  r"[^\s\[\]<>\"]++[ \t]*+((?:[^\[\]\n]++|\[\[[^\[\]\n]*+\]\])*+)\]",
  re.IGNORECASE,
)
_STRAY = re.compile(r"\[\[(?:[^\[\]|\n]*+\|)?|\]\]")
_SWITCH = re.compile(r"__[^\W\d_]++(?:_[^\W\d_]++)*+__")
_VARIANTS = re.compile(r"-\{([^{}]*)\}-")
_VARIANT = re.compile(r"\s*[a-z]{2,3}(?:-[a-z]+)*\s*:(.*)", re.DOTALL)
_QUALIFIER = re.compile(r"(?:\([^()]*\)|,.*|（[^（）]*）)$", re.DOTALL)
_MARKS = frozenset("=*#:;|{-")
_CACHED = 1 << 16
_LONGEST_PART = 1 << 22  # characters; twice what MediaWiki stores as a page


LINK = "link"  # the source of links in wikitext


class PageLink(NamedTuple):
  """A link to a page of the same wiki: `paragraph.text[start:end] == text`.

  `source` says what it was found by, where no one has written it as a link.
  """

  text: str
  target: str
  start: int
  end: int
  source: str = LINK


_Line = tuple[str, list[PageLink]]
_Section = tuple[str, list[_Line]]


class Paragraph(NamedTuple):
  """A line of a page, or one of its sections, without markup.

  Its links are in order, do not overlap and are not empty.
  """

  text: str
  links: tuple[PageLink, ...]
  abstract: bool
  section: str = ""  # the heading before it, without markup


class PageText(NamedTuple):
  """A page's text; a disambiguation only lists the pages that its title may mean."""

  paragraphs: list[Paragraph]
  disambiguation: bool


def read_wikitext(
  wikitext: str, site: Site, *, sections: bool = False, faults: Counter | None = None
) -> PageText:
  """Returns the visible text of a page, line by line or section by section.

  `faults` counts by kind the markup that cannot be read, such as unclosed templates.
  """
  faults = Counter() if faults is None else faults
  reader = _reader(site)
  sections_of_lines: list[_Section] = [("", [])]
  disambiguation = False
  for text in _parts(wikitext.replace(removal.GAP, ""), faults):
    text = removal.without_comments(text, faults) if "<" in text else text
    # Before the templates: without one, the apostrophes on both sides of it would become one run.
    text = text.replace("'''''", "").replace("'''", "").replace("''", "")
    disambiguation |= "__DISAMBIG__" in text or reader.disambiguation.search(text) is not None
    (_, first), *more = _sections(_bare(text, reader, faults), reader.targets, faults)
    sections_of_lines[-1][1].extend(first)
    sections_of_lines += more
  as_paragraphs = _sections_as_paragraphs if sections else _lines_as_paragraphs
  return PageText(as_paragraphs(sections_of_lines), disambiguation)


def _parts(text: str, faults: Counter) -> Iterator[str]:
  """Yields the text, in parts if it is longer than any page that MediaWiki would store."""
  if len(text) > _LONGEST_PART:
    faults["page read in parts"] += 1
  start = 0
  while len(text) - start > _LONGEST_PART:
    stop = text.rfind("\n", start, start + _LONGEST_PART) + 1 or start + _LONGEST_PART
    yield text[start:stop]
    start = stop
  yield text[start:]


def _bare(text: str, reader: "_Reader", faults: Counter) -> str:
  """Returns wikitext whose only markup is links, headings and the signs that lines start with."""
  text = removal.without_templates(text, faults, reader.templates.text)
  text = removal.without_tables("\n" + text, faults)
  text = removal.without_files(removal.without_tags(text), reader.brackets)
  text = _BROKEN_LABEL.sub(lambda match: match[0].replace("\n", " "), text)
  text = _EXTERNAL.sub(r"\1", text)
  return _VARIANTS.sub(_first_variant, text) if reader.variants else text


class _Targets(dict[str, str | None]):
  """Titles by the targets of links: None where a link is only text, empty where it is hidden."""

  def __init__(self, site: Site):
    self.site = site

  def __missing__(self, target: str) -> str | None:
    if len(self) >= _CACHED:
      self.clear()
    page = parse_target(target, self.site)
    hidden = not page.colon and (page.elsewhere or page.namespace in (6, 14))
    title = "" if hidden else None if page.namespace < 0 else page.title
    self[target] = title
    return title


class _Reader(NamedTuple):
  """Everything about a site that reading its pages needs."""

  targets: _Targets
  brackets: removal.Brackets
  disambiguation: re.Pattern
  variants: bool
  templates: Templates


@lru_cache(maxsize=8)
def _reader(site: Site) -> _Reader:
  hidden = [prefix for prefix, number in site.namespaces.items() if number in (6, 14)]
  words = LANGUAGES.get(site.language, Language())
  templates = (prefix for prefix, number in site.namespaces.items() if number == 10)
  names = "|".join(map(re.escape, {*words.disambiguation, *DISAMBIGUATION}))
  names = names.replace(r"\ ", "[ _]+")
  pattern = rf"\{{\{{\s*(?:(?:{'|'.join(map(re.escape, templates))})\s*:\s*)?(?:{names})\s*[|}}]"
  disambiguation = re.compile(pattern, re.IGNORECASE)
  variants = site.language in WITH_VARIANTS
  brackets = removal.brackets(hidden)
  return _Reader(_Targets(site), brackets, disambiguation, variants, Templates(site))


def _sections(text: str, targets: _Targets, faults: Counter) -> list[_Section]:
  """Returns the headings, empty for the first section's, each with the lines that have text."""
  lines: list[_Line] = []
  sections = [("", lines)]
  for line in text.split("\n"):
    line = line.strip()
    if line and line[0] in _MARKS:
      if line[0] == line[-1] == "=" and len(line) > 2:
        lines = []
        sections.append((_heading(line, targets), lines))
        continue
      line = _unmarked(line, faults)
    if "[[" in line or "]]" in line:
      text, links = _linked(line, targets, faults)
    else:
      text, links = _plain(line, faults).strip(), []
    if text:
      lines.append((text, links))
  return sections


def _heading(line: str, targets: _Targets) -> str:
  """Returns the text of a heading. What cannot be read in it was never text of the page."""
  text = line.strip("= \t")
  return _linked(text, targets, Counter())[0] if "[[" in text else _plain(text, Counter()).strip()


def _unmarked(line: str, faults: Counter) -> str:
  """Returns a line without the signs of lists and rules, empty for the remains of a table."""
  line = line.lstrip("-") if line.startswith("----") else line
  line = line.lstrip("*#:; \t")
  if not line.startswith(("|", "{|")):
    return line
  faults["stray table row"] += 1
  return ""


def _plain(text: str, faults: Counter) -> str:
  """Returns the text between links, or of a label, without any markup."""
  if "[[" in text or "]]" in text:
    for sign, kind in (("[[", "unclosed link"), ("]]", "unopened link")):
      if sign in text:
        faults[kind] += text.count(sign)
    text = _STRAY.sub("", text)
  if removal.GAP in text:
    text = text.replace(removal.GAP, "")
  if "__" in text:
    text = _SWITCH.sub(_without_switch, text)
  if "&" in text:
    text = decoded(text).replace("\n", " ")
  return text


def _linked(line: str, targets: _Targets, faults: Counter) -> _Line:
  parts = _LINK.split(line)
  text = _plain(parts[0], faults).lstrip()
  texts, length, links = [text], len(text), []
  for target, label, after in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
    title = targets[target]
    if title != "":
      if label and "[" in label and after.startswith("]"):
        label, after = label + "]", after[1:]
      shown = _shown(target, label, faults)
      text = shown.strip()
      if title and text:
        start = length + len(shown) - len(shown.lstrip())
        links.append(PageLink(text, title, start, start + len(text)))
      texts.append(shown)
      length += len(shown)
    after = _plain(after, faults)
    texts.append(after)
    length += len(after)
  return _trimmed("".join(texts), links)


def _trimmed(text: str, links: list[PageLink]) -> _Line:
  trimmed = text.lstrip()
  moved = len(text) - len(trimmed)
  if moved:
    links = [x._replace(start=x.start - moved, end=x.end - moved) for x in links]
  return trimmed.rstrip(), links


def _shown(target: str, label: str | None, faults: Counter) -> str:
  """Returns the text that a reader sees of a link."""
  if label is None:
    target = target.strip()
    return decoded(target.removeprefix(":")).replace("\n", " ")
  if label:
    return _plain(label, faults)
  name = target.rpartition(":")[2]
  return decoded(_QUALIFIER.sub("", name)).replace("\n", " ").strip()


def _without_switch(match: re.Match) -> str:
  """Removes magic words like __NOTOC__ and keeps names like __init__."""
  return "" if match[0] == match[0].upper() else match[0]


def _first_variant(match: re.Match) -> str:
  """Returns the text in the first of the scripts that -{zh-hans:…; zh-hant:…}- offers."""
  flags, bar, rules = match[1].rpartition("|")
  if bar and not {"A", "R", "D", "N"} & set(flags.upper()):
    return ""
  variant = _VARIANT.fullmatch(rules.partition(";")[0])
  return variant[1].strip() if variant else rules


def _lines_as_paragraphs(sections: list[_Section]) -> list[Paragraph]:
  return [
    Paragraph(text, tuple(links), number == 0, heading)
    for number, (heading, lines) in enumerate(sections)
    for text, links in lines
  ]


def _sections_as_paragraphs(sections: list[_Section]) -> list[Paragraph]:
  paragraphs: list[Paragraph] = []
  for heading, lines in sections:
    if not lines:
      continue
    links, start = [], 0
    for text, section in lines:
      links += [x._replace(start=x.start + start, end=x.end + start) for x in section]
      start += len(text) + 1
    text = "\n".join(text for text, _ in lines)
    paragraphs.append(Paragraph(text, tuple(links), not paragraphs, heading))
  return paragraphs
