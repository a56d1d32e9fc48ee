"""Facts that a page states of itself: descriptions, templates, categories, its type in words.

The type is the noun phrase after the verb of the first sentence: "Todd Pace is an American
competitive swimmer." gives "American competitive swimmer". There is no tagger of parts of speech:
the phrase ends where a word stands that no noun phrase goes on with. A language without a grammar
in `type_grammars` has no type phrases.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from luke_jax.text.sentences import split_sentences
from luke_jax.wiki.read.dump import Site, folded
from luke_jax.wiki.read.languages import DESCRIPTIONS, INFOBOXES, LANGUAGES, Language
from luke_jax.wiki.read.titles import decoded
from luke_jax.wiki.read.type_grammars import GRAMMARS, Grammar

_CATEGORY = 14
_LEAD = 1 << 15  # characters in which a page's description, infobox and bold names are looked for
_FIRST = 2000  # characters of a paragraph in which its first sentence ends
_NO_DESCRIPTION = "none"
_BOLD = re.compile(r"'''(?!')([^'\n]{1,120}(?:'(?!'')[^'\n]{1,60}){0,3})'''")
_LINK = re.compile(r"\[\[(?:[^\[\]|\n]*\|)?([^\[\]|\n]*)\]\]")
_MARKUP = re.compile(r"[\[\]{}<>|]")
_LONGEST = 1000  # characters of a sentence that are read
_MOST_WORDS = 12  # of a phrase; what would make it longer is left out
_MOST_WORDS_OF_ITEM = 4
_WORD = re.compile(r"(?:[A-Z]\.)+|[^\s,;:.!?]+(?:[.,:!?](?=[^\s])[^\s,;:.!?]*)*|[,;:.!?]")
_BREAKS = frozenset(",;:.!?–—")
_SPACES = re.compile(r"\s+")
_PARENTHESES = re.compile(r"[()\[\]{}]")
_QUALIFIER = re.compile(r" \([^()]*\)$|,.*$")
_QUOTES = re.compile(r'["“”]')
_PLURALS = {"men": "man", "women": "woman", "people": "person", "children": "child"}


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
  words = LANGUAGES.get(site.language, Language())
  names = _alternatives((*DESCRIPTIONS, *words.descriptions))
  # A template's name is short, and bounds keep text full of `{{` from being read again and again.
  value = r"\s{0,9}\|\s{0,9}(?:1\s{0,9}=\s{0,9})?([^{}|\n]{0,400})"
  description = rf"\{{\{{\s{{0,9}}(?:{names}){value}|\{{\{{SHORTDESC:([^{{}}|\n]{{0,400}})"
  boxes = _alternatives((*INFOBOXES, *words.infoboxes))
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


def type_phrase(sentence: str, title: str, language: str) -> str | None:
  """Returns the type that the first sentence of a page states, None if it states none."""
  grammar = GRAMMARS.get(language)
  if grammar is None or grammar.no_type.search(title):
    return None
  if grammar.lists.match(title):
    return grammar.list
  text = _without_parentheses(sentence[:_LONGEST])
  name = _QUALIFIER.sub("", title)
  place = text[: len(name) + 20].find(name)
  start = place + len(name) if place >= 0 else 0
  stop = text.find(";", start)
  text = text[:stop] if stop >= 0 and grammar.any_verb.search(text, start, stop) else text
  match = grammar.verb.search(text, start)
  words = _phrase(text[match.end() :], grammar) if match else []
  if match and match[1]:  # one of the cities
    words[-1:] = map(_singular, words[-1:])
  if not words and (match := grammar.subject.match(text)):
    words = match[1].split()
  elif not words and (match := grammar.role.search(text, start)):
    words = _phrase(text[match.start(1) :], grammar)
  phrase = _QUOTES.sub("", " ".join(words)).replace(" ,", ",").strip()
  return None if grammar.others.search(phrase) else phrase or None


def _without_parentheses(text: str) -> str:
  """Returns a text without what is in brackets of any kind."""
  parts, depth, at = [], 0, 0
  for match in _PARENTHESES.finditer(text):
    if depth == 0:
      parts.append(text[at : match.start()])
    depth = depth + 1 if match[0] in "([{" else max(depth - 1, 0)
    at = match.end()
  if depth == 0:
    parts.append(text[at:])
  return _SPACES.sub(" ", " ".join(parts)).strip().replace(" ,", ",").replace(" .", ".")


def _phrase(text: str, grammar: Grammar) -> list[str]:
  """Returns the words of the phrase that a text begins with, without those that only number it."""
  if named := grammar.named.match(text):
    text = text[named.end() :]
  last = ""
  while leading := grammar.leading.match(text):
    last, text = leading[0], text[leading.end() :]
  words = _WORD.findall(text)
  if last.strip() in grammar.nouns and not _chunk(words, 0, grammar)[0]:
    words = [last.strip()]  # the final of a cup, but not the last of five
  phrase = _chunks(words, grammar)
  return phrase if len(phrase) <= _MOST_WORDS else []


def _chunks(words: Sequence[str], grammar: Grammar) -> list[str]:
  """Returns the words of a phrase of one chunk, or of several joined by of, and, or commas."""
  phrase, stop = _chunk(words, 0, grammar)
  while phrase and stop < len(words):
    word = words[stop]
    if word == grammar.of and grammar.of not in phrase and _takes_of(phrase[-1], grammar):
      after, end = _chunk(words, stop + 1, grammar, article=True)
      after = [word, *after] if after else []
    elif word == grammar.conjunction or word in grammar.joins:
      after, end = _chunk(words, stop + 1, grammar)
      joined = word == grammar.conjunction or grammar.adjective.fullmatch(phrase[-1])
      after = [word, *after] if after and joined and not _is_object(words, end, grammar) else []
    elif word == ",":
      after, end = _after_comma(words, stop, phrase, grammar)
    else:
      break
    if not after or len(phrase) + len(after) > _MOST_WORDS:
      break
    phrase, stop = [*phrase, *after], end
  return phrase


def _chunk(
  words: Sequence[str], start: int, grammar: Grammar, *, article: bool = False
) -> tuple[list[str], int]:
  """Returns the words from a place to the next that ends a chunk, and the place of that."""
  if article and start < len(words) and words[start] in grammar.articles:
    first = start + 1
  else:
    first = start
  stop = first
  while stop < len(words) and not _ends(words, stop, stop > first, grammar):
    stop += 1
  return (list(words[start:stop]) if stop > first else []), stop


def _ends(words: Sequence[str], place: int, begun: bool, grammar: Grammar) -> bool:
  word = words[place]
  if word in _BREAKS or word in grammar.ends or word == grammar.conjunction:
    return True
  if word in grammar.prepositions or not begun:
    return word in grammar.prepositions
  following, next_one = [*words[place + 1 : place + 3], ".", "."][:2]
  adverb = words[place - 1].endswith("ly")  # privately owned museum
  if word in grammar.after and not (adverb and _is_noun(following, grammar)):
    return following != grammar.of  # standard set of letters
  if word in grammar.directions and following == grammar.of:
    return True
  if word.endswith("ly") and grammar.participle.fullmatch(following):
    return not _is_noun(next_one, grammar)  # village formerly called, but not highly skilled worker
  if word.endswith("ly") and following in grammar.after:
    return True
  article = following in grammar.articles
  if word in grammar.adjectives:
    return article or following in grammar.prepositions
  if not grammar.participle.fullmatch(word):
    return False
  gerund = word.endswith(grammar.gerund)
  return article or following == grammar.to or (not gerund and following in grammar.prepositions)


def _is_noun(word: str, grammar: Grammar) -> bool:
  """Returns whether a word may be a noun, as far as its being none of the small words says."""
  ends = grammar.ends | grammar.prepositions | grammar.articles
  return word[:1].islower() and word not in ends and word != grammar.conjunction


def _takes_of(word: str, grammar: Grammar) -> bool:
  return word.lower() in grammar.whole or word[:1].isupper()


def _is_object(words: Sequence[str], place: int, grammar: Grammar) -> bool:
  """Returns whether a chunk's end is an article, so that the chunk is a verb and not a noun."""
  return place < len(words) and words[place] in grammar.articles


def _after_comma(
  words: Sequence[str], comma: int, phrase: Sequence[str], grammar: Grammar
) -> tuple[list[str], int]:
  """Returns the words that a comma joins to a phrase: another adjective and noun, or a list's rest.

  A list has an item after each comma and ends with a conjunction and the last one.
  """
  more: list[str] = []
  at, adjective = comma, bool(grammar.adjective.fullmatch(phrase[-1]))
  while at < len(words) and words[at] == ",":
    last = words[at + 1 : at + 2] == [grammar.conjunction]
    item, end = _chunk(words, at + 1 + last, grammar)
    if not _is_item(item, grammar) or _is_object(words, end, grammar):
      break
    more += [",", *([grammar.conjunction] if last else []), *item]
    if last or (adjective and words[end : end + 1] != [grammar.conjunction]):
      return more, end
    if words[end : end + 1] == [grammar.conjunction]:
      final, end = _chunk(words, end + 1, grammar)
      is_list = final and not _is_object(words, end, grammar)
      return ([*more, grammar.conjunction, *final] if is_list else []), end
    at = end
  return [], comma


def _is_item(item: Sequence[str], grammar: Grammar) -> bool:
  """Returns whether words may be a list's item, and are no name of a place and no clause."""
  if not 0 < len(item) <= _MOST_WORDS_OF_ITEM or (len(item) == 1 and item[0][:1].isupper()):
    return False
  return item[0] not in grammar.after and not grammar.participle.fullmatch(item[0])


def _singular(word: str) -> str:
  for plural, single in _PLURALS.items():
    if word.endswith(plural):
      return word.removesuffix(plural) + single
  if word.endswith(("species", "series", "ss", "us", "is")) or not word.endswith("s"):
    return word
  if word.endswith("ies") and len(word) > 4:
    return word[:-3] + "y"
  return word[:-2] if word.endswith(("ches", "shes", "sses", "xes")) else word[:-1]
