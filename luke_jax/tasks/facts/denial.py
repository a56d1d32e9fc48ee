"""Sentences that deny what they would state: not, never, refused to, if, it is said that.

A cue reaches as far as its clause, as in ConText (Harkema et al., 2009), whose rules are for what
doctors write. The words are English.
"""

import bisect
import functools
import re
from typing import NamedTuple

from luke_jax.tasks.facts.files import FactsExample
from luke_jax.text.tokenizer import Bounds

ENGLISH = "en"
NEAR = 25  # characters before a name, in which what has ended is said of it


def _words(*alternatives: str) -> re.Pattern[str]:
  return re.compile(rf"\b(?:{'|'.join(alternatives)})", re.IGNORECASE)


# What follows in the clause is denied, refused, missed, meant to be, or supposed.
_BEFORE = _words(
  # With "that", up to the end of the sentence.
  r"(?:den(?:y|ied|ies|ying)"
  r"|(?:claim|wish|imagin|pretend|doubt|suspect|suppos|believ|hop|fear)\w*|without proof,"
  r"|(?:wrong|false)ly \w+|false|untrue|not true|mistake to \w+|rumou?r(?: \w+){0,2}"
  r"|myth|legend|story"
  r"|(?:no|little|any) (?:\w+ )?(?:evidence|proof)|(?:nobody|no one)(?: \w+){1,2}) that\b",
  r"(?:not|(?<=n)[o’']t)\b(?! (?:only|just|merely|until|unlike|least|far)\b)",
  r"(?:\w+n['’]t|cannot|never|neither|nor|nobody|no one|none of|without|instead of|rather than)\b",
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
  r"(?:was|were|is|has|have) (?:never|not) (?:been )?(?:confirmed|proved|proven|true|signed)\b",
  r"(?:came to nothing|fell through)\b",
)
# What was, and is no more.
_ENDED = _words(
  r"(?:former|ex-|no longer|used to|divorced|ceased|left|resigned|stepped down|quit)\b"
)
_CLAUSE_END = re.compile(
  r"[;:]|,? (?:but|although|though|yet) "
  r"|, (?:and|who|which|where|while|so|then|an?|the|he|she|it|they|his|her|its) "
)


class Cues(NamedTuple):
  """Places in a sentence of what denies, in order, and whether it is a question."""

  before: tuple[Bounds, ...]
  reaches: tuple[int, ...]  # where the clause of each of them ends
  after: int  # where the last of those begins that deny what precedes, -1 for none
  ended: tuple[int, ...]
  question: bool

  @classmethod
  def of(cls, text: str, start: int, end: int) -> "Cues":
    """Returns those of the sentence `text[start:end]`."""
    clauses = [x.start() for x in _CLAUSE_END.finditer(text, start, end)] + [end]
    before = tuple(x.span() for x in _BEFORE.finditer(text, start, end))
    reaches = tuple(
      end if text.endswith("that", *x) else clauses[bisect.bisect_left(clauses, x[1])]
      for x in before
    )
    after = max((x.start() for x in _AFTER.finditer(text, start, end)), default=-1)
    ended = tuple(x.start() for x in _ENDED.finditer(text, start, end))
    return cls(before, reaches, after, ended, text[start:end].rstrip().endswith("?"))

  def deny(self, first: Bounds, second: Bounds) -> bool:
    """Returns true if what two mentions, in this order, have to do with each other is denied."""
    if self.question or self.after >= second[1]:
      return True
    number = bisect.bisect_left(self.before, (second[0],)) - 1
    if number >= 0 and first[0] <= self.before[number][0] < first[1]:
      number = -1  # it is a part of the name
    if number >= 0 and self.reaches[number] > second[0]:
      return True
    near = bisect.bisect_left(self.ended, second[0]) - 1
    return near >= 0 and (self.ended[near] >= first[1] or 0 < first[0] - self.ended[near] <= NEAR)


class Denials:
  """What the sentences of an example deny; each is read once."""

  def __init__(self, example: FactsExample) -> None:
    """Reads nothing yet."""
    self._example = example
    self._cues = functools.cache(lambda number: Cues.of(example.text, *example.edges[number]))

  def __call__(self, head: int, tail: int) -> bool:
    """Returns true if two names share sentences, all of which deny what they say of them."""
    places = self._example.places
    shared = places[head] & places[tail]
    return bool(shared) and all(self._in(number, head, tail) for number in shared)

  def _in(self, number: int, head: int, tail: int) -> bool:
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
    return self._cues(number).deny(*sorted(pair))
