"""Words of each language before, within and after the phrase that states a page's type."""

import re
import tomllib
from typing import NamedTuple

from luke_jax.files import packaged


class Grammar(NamedTuple):
  """Words of a language by which the end of a noun phrase is found without a tagger."""

  verb: re.Pattern  # all before the phrase: is a; group 1 where it is one of several
  any_verb: re.Pattern
  named: re.Pattern  # in place of which the phrase after it counts: name of a
  leading: re.Pattern  # what does not belong to the type at its start: first, former, 1999
  role: re.Pattern  # a verb and, as group 1, a phrase without an article: was bishop of
  subject: re.Pattern  # a sentence whose subject has the phrase, as group 1: The team played
  ends: frozenset[str]  # words that no phrase goes on with
  prepositions: frozenset[str]
  articles: frozenset[str]
  after: frozenset[str]  # words that begin a clause, if one of the phrase is before them
  adjectives: frozenset[str]  # words that do so before a preposition
  directions: frozenset[str]  # words that do so before `of`
  participle: re.Pattern
  gerund: str  # the end of participles that often are nouns
  adjective: re.Pattern  # a word that a comma and another adjective may follow
  whole: frozenset[str]  # nouns that say little without what they are of: species, type
  joins: frozenset[str]  # conjunctions of adjectives
  conjunction: str
  of: str
  to: str
  nouns: frozenset[str]  # words of `leading` that are types by themselves
  list: str
  lists: re.Pattern  # titles of lists
  no_type: re.Pattern  # titles of pages that are no one thing
  others: re.Pattern  # phrases that are said of others than the page


_WORDS = tomllib.loads(packaged("wiki/read/type_words.toml"))


def _any_of(name: str) -> str:
  """Returns the pattern of any of some words of English."""
  return "|".join(_WORDS["en"][name])


def _words(name: str) -> frozenset[str]:
  return frozenset(_WORDS["en"][name].split())


_NUMBERS = _any_of("numbers")
_COUNTS = _any_of("counts")
_SUPERLATIVES = _any_of("superlatives")
_SUPERLATIVE_OF = _any_of("superlative_of")
_ADVERBS = _any_of("adverbs")
_ROLES = _any_of("roles")
_EVENTS = _any_of("events")

_ENGLISH = Grammar(
  verb=re.compile(
    rf"\b(?:is|was|are|were|will be|has been|had been|would be)(?:,? (?:{_ADVERBS}))*+"
    rf" (?:(one) (?:of|among) (?:the|several|many|some|a|his|her|their|its|only|{_COUNTS}|\d+)"
    r"(?: \d+)?|any of (?:the|several|various)|a|an|the|any|another)\b(?!-)\s*"
  ),
  any_verb=re.compile(r"\b(?:is|was|are|were)\b"),
  named=re.compile(
    r"(?:[a-z]+ ){0,3}(?:name|names|title|term|nickname|pseudonym|codename|alias)"
    r" (?:of|for|used for|(?<!title )given to) (?:(?:any|one) of )?"
    r"(?:a|an|the|two|three|several|various|any)\b\s*"
  ),
  leading=re.compile(
    rf"(?:the|a|an|{_NUMBERS}|[a-z]+-(?:{_NUMBERS})|\d+(?:st|nd|rd|th)|\d{{4}}s?(?:[–/-]\d{{2,4}})?"
    rf"|only|sole|former|then|late|current|few|many|several|various|other|{_COUNTS}"
    rf"|(?:(?:{_NUMBERS})[ -])?(?:{_SUPERLATIVES})(?: (?:{_SUPERLATIVE_OF}))?)(?:,| and| or)? "
  ),
  role=re.compile(
    rf"\b(?:is|was)(?: an?)? ((?:[A-Za-z-]+(?<!ed) )??(?:{_ROLES})) (?=of\b)", re.IGNORECASE
  ),
  subject=re.compile(
    rf"The (?:[^\s.,;]+ ){{0,9}}?((?:[a-z][a-z'’-]+ ){{0,3}}(?:{_EVENTS}))"
    r"(?: (?:at|of|in|for|to) [^.,;]{1,60}?)? (?:represented|represents|took place|takes place"
    r"|was held|were held|was played|was contested|competed|competes)\b"
  ),
  ends=_words("ends"),
  prepositions=_words("prepositions"),
  articles=_words("articles"),
  after=_words("after"),
  adjectives=_words("adjectives"),
  directions=_words("directions"),
  participle=re.compile(r"[a-z]+ed|[a-z]+ing|given"),
  gerund="ing",
  adjective=re.compile(
    r"small|large|tall|long|short|low|high|big|little|old|new|young|wide|narrow|thin|thick|flat"
    r"|hard|soft|dark|light|bright|slow|fast|free|open|round|private|public|single|open-source"
    r"|[A-Za-z-]+-(?:sized|born|based|style|made)"
    r"|[a-z-]+(?:rue|ous|ful|less|ible|able|ary|ern|ish|[^cn]al|ed|ic|ive)"
  ),
  whole=_words("whole"),
  joins=_words("joins"),
  conjunction="and",
  of="of",
  to="to",
  nouns=_words("nouns"),
  list="list",
  lists=re.compile(r"(?:Lists? of|Listed buildings in|Deaths in) "),
  no_type=re.compile(r" \(disambiguation\)$"),
  others=re.compile(r"\b(?:defending|reigning|returning) "),
)

GRAMMARS = {"en": _ENGLISH}
