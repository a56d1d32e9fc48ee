"""Denies what sentences say, by rules: not, never, refused to, would have, it is said that.

A verb between two names is denied; then nothing holds between a name before it and one after it.
Or the whole sentence is, as what others claim, ask or wish; then nothing in it holds. And some
sentences get a denial beside what they say, which all the same holds.
"""

import dataclasses
import random
import re
from collections.abc import Iterator
from itertools import product

from luke_jax.tasks.facts.files import FactsExample, Holds, NameOfText

SHARE = 0.5  # of the sentences with facts, that are denied in each way
BESIDE = 0.25  # of them, that get a denial beside what they say
AUXILIARY = re.compile(r"\b(is|was|are|were|has|have|had|will|can|could)\b(?! (?:not|never|no)\b)")
AFTER_AUXILIARY = (
  "not",
  "never",
  "no longer",
  "not yet",
  "never officially",
  "almost",
  "very nearly",
  "not really",
  "allegedly",
  "by some accounts",
)
REGULAR = re.compile(r"\b([a-z]{2,}ed)\b")
IRREGULAR = {
  **{"won": "win", "wrote": "write", "became": "become", "led": "lead", "sang": "sing"},
  **{"made": "make", "built": "build", "held": "hold", "left": "leave", "took": "take"},
  **{"gave": "give", "sold": "sell", "bought": "buy", "met": "meet", "ran": "run", "sent": "send"},
  **{"began": "begin", "came": "come", "went": "go", "grew": "grow", "lost": "lose", "got": "get"},
  **{"fought": "fight", "taught": "teach", "drew": "draw", "spoke": "speak", "chose": "choose"},
}
VERB = re.compile(rf"\b({'|'.join(IRREGULAR)})\b")
OF_VERB = (
  "never {past}",
  "did not {plain}",
  "refused to {plain}",
  "failed to {plain}",
  "almost {past}",
  "all but {past}",
  "narrowly failed to {plain}",
  "might have {past}",
  "was about to {plain}, but did not,",
  "reportedly {past}",
  "would have {past}, had there been time, for",
  "was asked to {plain}, and declined,",
  "denied that he had {past}",
  "had hoped to {plain}",
  "did not, as planned, {plain}",
  "is said to have {past}",
  "could not {plain}",
  "no longer {past}",
)
BEFORE = (
  "It is not true that ",
  "There is no evidence that ",
  "Nobody could show that ",
  "Contrary to what was printed, it is false that ",
  "Critics denied that ",
  "It was wrongly reported that ",
  "A rumour had it that ",
  "His rivals claimed that ",
  "Some believe, without proof, that ",
  "If it were true that ",
  "She wished that ",
  "Who says that ",
  "Is it so that ",
  "The novel imagines that ",
  "It would be a mistake to think that ",
)
CLAIMED = (
  ", or so it is said.",
  ", his rivals claim.",
  ", according to a rumour.",
  ", at least in the film.",
  " if all had gone well.",
  ": so ran the story, which nobody could confirm.",
)
TRUE = (
  "It is true that ",
  "It is well known that ",
  "As the archive shows, ",
  "The press confirmed that ",
  "Although not everyone noticed, ",
  "There is no doubt that ",
)
BEHIND = (
  " It was not easy.",
  " That was never in doubt.",
  " The weather was not good.",
  " Nobody objected.",
  " It did not last long.",
)


def denied(sentence: FactsExample, drawn: random.Random) -> Iterator[FactsExample]:
  """Yields copies of a sentence that deny what it says."""
  if not sentence.facts:
    return
  if drawn.random() < SHARE and (verb := _verb(sentence, drawn)):
    yield _named(_without(verb), "verb")
  if drawn.random() < SHARE and (question := _question(sentence)):
    yield _named(_of_places(question), "question")
  if drawn.random() < SHARE / 2 and (stem := _without_end(sentence)):
    yield _named(_of_places(_behind(stem, drawn.choice(CLAIMED))), "claimed")
  if drawn.random() < SHARE:
    start = drawn.choice(BEFORE)
    changed = _replaced(sentence, 0, 0, start, lower=True)
    if start.startswith(("Who", "Is")) and (stem := _without_end(changed)):
      changed = _behind(stem, "?")
    elif start.startswith("If"):
      changed = _behind(changed, " we would have heard of it.")
    yield _named(_of_places(changed), "whole")


def _question(sentence: FactsExample) -> FactsExample | None:
  """Returns a sentence that begins with a name and a verb as a question."""
  end = max((b for x in sentence.names for a, b in x.mentions if a == 0), default=None)
  verb = None if end is None else re.compile(r" ([a-z]+)\b").match(sentence.text, end)
  stem = _without_end(sentence)
  if verb is None or stem is None:
    return None
  word = verb[1]
  if AUXILIARY.fullmatch(word):
    first, plain = word.capitalize(), ""
  elif VERB.fullmatch(word) or REGULAR.fullmatch(word):
    first, plain = "Did", f" {IRREGULAR.get(word) or _plain(word)}"
  else:
    return None
  changed = _replaced(stem, *verb.span(), plain)
  return _behind(_replaced(changed, 0, 0, f"{first} "), "?")


def beside(sentence: FactsExample, drawn: random.Random) -> Iterator[FactsExample]:
  """Yields a copy of some sentences with a denial that leaves what they say as it is."""
  if sentence.facts and drawn.random() < BESIDE:
    more = drawn.choice((*TRUE, *BEHIND))
    before = more in TRUE
    changed = _replaced(sentence, 0, 0, more, lower=True) if before else _behind(sentence, more)
    yield _named(changed, "beside")


def _of_places(example: FactsExample) -> FactsExample:
  """Returns an example with the facts alone that stand beside a statement, as `Paris, France`.

  Where other places lie may still be read off it.
  """
  places = {number for number, name in enumerate(example.names) if name.label == "LOC"}
  facts, unknown = [], []
  for fact in example.facts or ():
    pairs = product(*(example.names[x].mentions for x in fact[:2]))
    between = [example.text[min(a[1], b[1]) : max(a[0], b[0])] for a, b in pairs]
    if any(re.fullmatch(r"\W{1,3}", x) for x in between):
      facts.append(fact)
    elif places.issuperset(fact[:2]):
      unknown.append(fact)
  return dataclasses.replace(example, facts=tuple(facts), unknown=tuple(unknown))


def _named(example: FactsExample, way: str) -> FactsExample:
  return dataclasses.replace(example, id=f"{example.id} {way}")


def _verb(sentence: FactsExample, drawn: random.Random) -> tuple[FactsExample, int] | None:
  """Returns a sentence with a verb denied that stands between two related names, and its place."""
  text, mentions = sentence.text, [x for name in sentence.names for x in name.mentions]
  for fact in drawn.sample(sentence.facts or (), len(sentence.facts or ())):
    pairs = list(product(*(sentence.names[x].mentions for x in fact[:2])))
    one, other = min(pairs, key=lambda x: abs(x[0][0] - x[1][0]))
    first, last = sorted((one, other))
    for match, new in _denials(text, first[1], last[0], drawn):
      if not any(start < match.end() and match.start() < end for start, end in mentions):
        return _replaced(sentence, *match.span(), new), match.start()
  return None


def _denials(
  text: str, start: int, end: int, drawn: random.Random
) -> Iterator[tuple[re.Match[str], str]]:
  """Yields verbs of a stretch of a text, each with what denies it."""
  if match := AUXILIARY.search(text, start, end):
    yield match, f"{match[0]} {drawn.choice(AFTER_AUXILIARY)}"
  for pattern in (VERB, REGULAR):
    if match := pattern.search(text, start, end):
      forms = {"past": match[0], "plain": IRREGULAR.get(match[0]) or _plain(match[0])}
      yield match, drawn.choice(OF_VERB).format(**forms)


def _plain(past: str) -> str:
  """Returns the likely plain form of a regular past form."""
  stem = past[:-2]
  if stem.endswith("i"):
    return f"{stem[:-1]}y"
  if re.search(r"([bdgmnprt])\1$", stem):
    return stem[:-1]
  return f"{stem}e" if re.search(r"(?:[uvszc]|at|[aeiou][rs]|[^aeiou]l)$", stem) else stem


def _without(changed: tuple[FactsExample, int]) -> FactsExample:
  """Returns a sentence without the facts between names that stand on both sides of a place."""
  example, place = changed
  sides = [{start > place for start, _ in name.mentions} for name in example.names]

  def apart(fact: Holds) -> bool:
    return sides[fact.head] != sides[fact.tail]

  facts = tuple(x for x in example.facts or () if not apart(x))
  unknown = tuple(x for x in example.unknown if not apart(x))
  return dataclasses.replace(example, facts=facts, unknown=unknown)


def _replaced(
  example: FactsExample, start: int, end: int, new: str, *, lower: bool = False
) -> FactsExample:
  """Returns an example with a stretch of its text replaced, and its names moved."""
  rest = example.text[end:]
  if lower and not any(0 in x for name in example.names for x in name.mentions):
    rest = rest[:1].lower() + rest[1:]
  by = len(new) - (end - start)
  names = tuple(
    NameOfText(tuple((a + by, b + by) if a >= end else (a, b) for a, b in x.mentions), x.label)
    for x in example.names
  )
  text = example.text[:start] + new + rest
  return dataclasses.replace(example, text=text, names=names, sentences=((0, len(text)),))


def _behind(example: FactsExample, more: str) -> FactsExample:
  text = example.text + more
  return dataclasses.replace(example, text=text, sentences=((0, len(text)),))


def _without_end(example: FactsExample) -> FactsExample | None:
  """Returns an example without the marks at its end; None if a name reaches into these."""
  text = re.sub(r"\W*$", "", example.text)
  fits = all(end <= len(text) for name in example.names for _, end in name.mentions)
  return dataclasses.replace(example, text=text) if fits else None
