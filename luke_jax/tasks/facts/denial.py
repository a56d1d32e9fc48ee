"""Sentences that deny what they would state: not, never, refused to, if, it is said that.

A cue reaches as far as its clause, as in ConText (Harkema et al., 2009), whose rules are for what
doctors write. The words are English.
"""

import bisect
import functools
import re
from collections.abc import Sequence
from typing import NamedTuple

from luke_jax.tasks.facts.files import FactsExample
from luke_jax.text.tokenizer import Bounds

ENGLISH = "en"
NEAR = 25  # characters before a name, in which what has ended is said of it
BEFORE = 60  # characters before a place, in which it says that something is beside it


def _words(*alternatives: str) -> re.Pattern[str]:
  return re.compile(rf"\b(?:{'|'.join(alternatives)})", re.IGNORECASE)


# What follows in the clause is denied, refused, missed, meant to be, or supposed.
_BEFORE = _words(
  # With "that", up to the end of the sentence.
  r"(?:den(?:y|ied|ies|ying)"
  r"|(?:claim|wish|imagin|pretend|(?<!no )doubt|suspect|suppos|believ|hop|fear)\w*|without proof,"
  r"|(?:wrong|false)ly \w+|false|untrue|not true|mistake to \w+|rumou?r(?: \w+){0,2}"
  r"|myth|legend|story"
  r"|(?:no|little|any) (?:\w+ )?(?:evidence|proof)|(?:nobody|no one)(?: \w+){1,2}) that\b",
  r"not\b(?! (?:only|just|merely|until|unlike|least|far|hesitate|to be confused)\b)",
  r"(?:\w+n['’]t|isnt|cannot|never|neither|nor|nobody|no one|none of|instead of|rather than)\b",
  r"without\b(?! (?:\w+ )?(?:doubt|question|exception))",
  r"(?:perhaps|probably|possibly|by no means|anything but|contrary to|far from)\b",
  r"(?:unable to|in vain|reportedly|by (?:some|many) accounts|all but(?! (?:all|one|two|\d)))\b",
  r"(?:almost|nearly)\b(?! (?:all|every|\d))",
  r"(?:refus|declin|den[iy]|reject|fail|hesitat)(?:e|ed|es|ied|ies|ying|ing)?"
  r" (?:to|that|having|being|an?|the|all|any|ever|his|her|it|he|she|they)\b",
  r"(?:turn(?:ed|s|ing) down|missed|lost out|too \w+ to)\b",
  r"(?:would|could|might|may|should|must|was to|were to) (?:\w+ )?have\b",
  r"(?:hop|plann|want|wish|intend|expect|tr[iy]|attempt|propos|threaten|ask)"
  r"(?:e|ed|es|s|ing)? to\b",
  r"(?:was|were) (?:about|due|going|set) to\b",
  r"(?:if|whether|unless)\b",
  r"(?:no|little) (?:evidence|proof|record|document|truth)\b",
  r"(?:alleged|supposed|purported|reputed|false|wrong)ly\b",
  r"(?:is|are|was|were) (?:\w+ )?(?:said|believed|thought|assumed|rumou?red|supposed) to\b",
  r"(?:rumou?rs?|gossip|myth|hoax|legend has it|claim(?:s|ed|ing)?|pretend(?:s|ed|ing)?)\b",
)
# What precedes in the sentence is no more than said, or came to nothing.
_AFTER = _words(
  r"(?:or so (?:it|he|she|they|the)|so (?:ran|went|runs|goes) the (?:story|rumou?r)"
  r"|according to (?:an? |some )?(?:rumou?rs?|gossip|legend)|if (?:all|things) had)\b",
  r"(?:it is|they|people|some|rivals) (?:\w+ )?(?:said|say|claim|claimed|believe)\b(?=\W*$)",
  r"(?:was|were|is|has|have) (?:never|not) (?:been )?(?:confirmed|proved|proven|true|signed)\b"
  r"(?! (?:as|guilty|by|to|innocent))",
  r"(?:came to nothing|fell through)\b",
)
# What was, and is no more; and relations that once they hold always do.
_ENDED = _words(
  r"(?:former|ex-|no longer|used to|divorced|ceased|resigned|stepped down|quit"
  r"|left(?! (?:bank|hand|school|side|wing)))\b"
)
LASTING = {
  *("author", "child", "composer", "creator", "date of birth", "date of death", "director"),
  *("educated at", "father", "founded by", "inception", "lyrics by", "mother", "performer"),
  *("place of birth", "place of death", "publication date", "screenwriter", "sibling"),
}
# Beside a place is not in it.
_BESIDE = re.compile(
  r"\b(?:near(?:by)?|outside(?: of)?|close to|not far from|next to|beside|opposite"
  r"|(?<!in )(?<!in the )(?<!from the )(?<!far )"
  r"(?:north|south|east|west)\w*(?:[- ](?:north|south|east|west)\w*)? of"
  r"|(?:miles?|km|kilomet\w+)(?: \w+)? (?:from|of))(?: the)?(?: (?:town|city|village) of)?\s+$",
  re.IGNORECASE,
)
WITHIN = {
  *("place of birth", "place of death", "residence", "work location", "location"),
  *("headquarters location", "location of formation"),
  "located in the administrative territorial entity",
}
_CLAUSE_END = re.compile(
  r"[;:)]|[?!][\"”]|,? (?:but|although|though|yet) "
  r"| and (?:was|is|were|are|had|lived|died|became|joined|married|founded) "
  r"|, (?:and|who|which|where|while|so|then|was|is|were|born|died|an?|the|he|she|it|they|his|her"
  r"|its) "
)


class Cues(NamedTuple):
  """Places in a sentence of what denies, in order, and whether it is a question."""

  before: tuple[int, ...]
  reaches: tuple[int, ...]  # how far each and those before it reach, to the end of a clause
  after: int  # where the last of those begins that deny what precedes, -1 for none
  ended: tuple[int, ...]
  question: bool

  @classmethod
  def of(cls, text: str, start: int, end: int, names: Sequence[Bounds]) -> "Cues":
    """Returns those of the sentence `text[start:end]`; a word of a name is none."""
    starts = [x[0] for x in names]

    def places(pattern: re.Pattern[str]) -> list[Bounds]:
      spans = (x.span() for x in pattern.finditer(text, start, end))
      numbers = ((x, bisect.bisect_right(starts, x[0]) - 1) for x in spans)
      return [x for x, number in numbers if number < 0 or names[number][1] <= x[0]]

    clauses = [x.start() for x in _CLAUSE_END.finditer(text, start, end)] + [end]
    before, reach, reaches = places(_BEFORE), start, []
    for x in before:
      whole = text.endswith("that", *x)
      reach = max(reach, end if whole else clauses[bisect.bisect_left(clauses, x[1])])
      reaches.append(reach)
    after = max((x[0] for x in places(_AFTER)), default=-1)
    ended = tuple(x[0] for x in places(_ENDED))
    question = re.search(r"\?\W*$", text[max(start, end - 20) : end]) is not None
    return cls(tuple(x[0] for x in before), tuple(reaches), after, ended, question)

  def deny(self, first: Bounds, second: Bounds, *, ends: bool) -> bool:
    """Returns true if what two mentions, in this order, have to do with each other is denied.

    What `ends` is denied too by being over.
    """
    if self.question or self.after >= second[1]:
      return True
    number = bisect.bisect_left(self.before, second[0]) - 1
    if number >= 0 and self.reaches[number] > second[0]:
      return True
    near = bisect.bisect_left(self.ended, second[0]) - 1 if ends else -1
    return near >= 0 and (self.ended[near] >= first[1] or 0 < first[0] - self.ended[near] <= NEAR)


class Denials:
  """Denials in the sentences of an example, each of which is read once."""

  def __init__(self, example: FactsExample) -> None:
    """Reads nothing yet."""
    self._example = example
    self._names = sorted(x for name in example.names for x in name.mentions)
    self._cues = functools.cache(self._read)

  def __call__(self, head: int, tail: int, label: str = "") -> bool:
    """Returns true if two names share sentences, all of which deny what they say of them."""
    shared = self._example.places[head] & self._example.places[tail]
    return bool(shared) and all(self._in(number, head, tail, label) for number in shared)

  def _read(self, number: int) -> Cues:
    return Cues.of(self._example.text, *self._example.edges[number], self._names)

  def _in(self, number: int, head: int, tail: int, label: str) -> bool:
    start, end = self._example.edges[number]
    heads, tails = (
      [x for x in self._example.names[name].mentions if start <= x[0] < end]
      for name in (head, tail)
    )
    if not heads or not tails:  # a mention goes on beyond its sentence
      return False
    pair = min(
      ((x, y) for x in heads for y in tails),
      key=lambda x: max(x[0][0] - x[1][1], x[1][0] - x[0][1]),
    )
    place = pair[1][0]
    if label in WITHIN and _BESIDE.search(self._example.text, max(start, place - BEFORE), place):
      return True
    return self._cues(number).deny(*sorted(pair), ends=label not in LASTING)
