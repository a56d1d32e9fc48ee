"""Words of each language before, within and after the phrase that states a page's type."""

import re
from typing import NamedTuple


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


def _words(text: str) -> frozenset[str]:
  return frozenset(text.split())


_NUMBERS = (
  "first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|eleventh|twelfth|thirteenth"
  "|fourteenth|fifteenth|sixteenth|seventeenth|eighteenth|nineteenth|twentieth|final|last|next"
)
_COUNTS = "two|three|four|five|six|seven|eight|nine|ten"
_SUPERLATIVES = (
  "largest|biggest|oldest|highest|tallest|longest|smallest|youngest|fastest|deepest|earliest|latest"
  "|newest|greatest|lowest|richest|strongest|busiest|nearest|northernmost|southernmost|easternmost"
  "|westernmost|best|finest|most"
)
_SUPERLATIVE_OF = (
  "important|common|populous|famous|popular|notable|prominent|influential|successful|widely used"
  "|widespread|significant|recent|prestigious|running|lived|serving|standing|known"
)
_ADVERBS = (
  "also|still|currently|now|originally|generally|usually|often|once|formerly|perhaps|probably"
  "|arguably|simply|essentially|technically|primarily|mainly|mostly|typically|effectively|really"
  "|officially|initially|historically|today|considered|regarded as|thus|therefore|itself|in fact"
  "|commonly|traditionally|either|both|, [a-z ]{1,20},"
)
_ROLES = (
  "king|queen|emperor|empress|prince|princess|duke|duchess|count|countess|earl|baron|lord|bishop"
  "|archbishop|archdeacon|dean|abbot|abbess|pope|patriarch|president|chairman|chairwoman"
  "|chairperson|chancellor|governor|mayor|minister|secretary|professor|director|founder|co-founder"
  "|editor|member|head|ruler|sultan|caliph|khan|shah|tsar|consul|prefect|sheriff|ambassador"
)
_EVENTS = (
  "team|event|competition|tournament|season|election|elections|race|championship|championships"
  "|ceremony|final|match|game"
)

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
  ends=_words(
    "that which who whom whose where when while whereby wherein whereas why how if because"
    " but not or nor is was are were be been has had have can could may might will would"
    " should does did do a an the this these those his her its their he she it they we you i"
    " also then including such so both either one only just currently now there here due"
    " usually often formerly originally primarily mainly mostly today later better more most"
    " less plus"
  ),
  prepositions=_words(
    "of in on at by for from with without to into within between among near around about"
    " against under over above below during since until till after before through along across"
    " as like via per than upon inside outside behind beyond toward towards throughout despite"
    " amid off onto out alongside beside besides concerning regarding following opposite"
    " adjacent"
  ),
  articles=_words("a an the his her its their"),
  after=_words(
    "located situated based founded established used born held released directed written"
    " produced created developed published designed built owned operated played performed"
    " recorded composed named called set made formed featuring starring serving consisting"
    " containing comprising belonging living working specializing specialising playing"
    " competing covering involving dealing found taken seen shown sung led run won fought"
    " drawn told begun spoken grown sold thrown hosted broadcast aired starred co-written co-"
    " produced co-founded co-directed stationed headquartered originating connecting linking"
    " flowing describing representing depicting lying aimed dedicated devoted providing"
    " offering focusing focused operating having using being meaning studying resulting"
    " beginning ending ranging spanning extending allowing showing adapted intended"
  ),
  adjectives=_words(
    "native endemic available responsible capable common active notable famous eligible"
    " similar related equivalent unique prominent popular typical able associated rich known"
  ),
  directions=_words(
    "north south east west north-east north-west south-east south-west northeast northwest"
    " southeast southwest"
  ),
  participle=re.compile(r"[a-z]+ed|[a-z]+ing|given"),
  gerund="ing",
  adjective=re.compile(
    r"small|large|tall|long|short|low|high|big|little|old|new|young|wide|narrow|thin|thick|flat"
    r"|hard|soft|dark|light|bright|slow|fast|free|open|round|private|public|single|open-source"
    r"|[A-Za-z-]+-(?:sized|born|based|style|made)"
    r"|[a-z-]+(?:rue|ous|ful|less|ible|able|ary|ern|ish|[^cn]al|ed|ic|ive)"
  ),
  whole=_words(
    "species genus genera subgenus subspecies family subfamily superfamily order suborder"
    " tribe type kind sort form breed variety cultivar strain class group set series"
    " collection piece work part list member branch system style pair body act members range"
    " field method process state school game line point area section subset category version"
    " variant division unit edition season episode installment instalment"
  ),
  joins=_words("but or yet"),
  conjunction="and",
  of="of",
  to="to",
  nouns=_words("final"),
  list="list",
  lists=re.compile(r"(?:Lists? of|Listed buildings in|Deaths in) "),
  no_type=re.compile(r" \(disambiguation\)$"),
  others=re.compile(r"\b(?:defending|reigning|returning) "),
)

GRAMMARS = {"en": _ENGLISH}
