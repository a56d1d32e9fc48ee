"""Short texts with facts: phrases that were written for this, filled with names."""

import collections
import dataclasses
import hashlib
import itertools
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from luke_jax.tasks.facts.files import FactsExample, Holds, NameOfText

PHRASES = Path(__file__).with_name("phrases.tsv")
SLOT = re.compile(r"\{(\w+):([A-Z]+)\}")
TIMES = 2  # that each phrase is filled
TOGETHER = (1, 1, 1, 2, 3)  # phrases of a text, each as often
HELD_OUT = 12  # one phrase in so many, by its hash, is dev
ALWAYS, EVER = 0.8, 0.02  # shares of a relation's facts with which another one holds, or may
DEMONYM = re.compile(r"(?:[a-z](?:ian|ean|ish|ese|can)|French|Dutch|Greek)s?$")


class Beside(NamedTuple):
  """Relations that hold of two names beside one, and that may; True if they are turned round."""

  holds: frozenset[tuple[str, bool]]
  may: frozenset[tuple[str, bool]]


def beside(documents: Sequence[FactsExample]) -> dict[str, Beside]:
  """Returns what else holds or may with each relation, by documents."""
  counts: collections.Counter[str] = collections.Counter()
  both: dict[str, collections.Counter[tuple[str, bool]]] = collections.defaultdict(
    collections.Counter
  )
  for document in documents:
    of_pair: dict[tuple[int, int], set[str]] = collections.defaultdict(set)
    for fact in document.facts or ():
      of_pair[fact[:2]].add(fact.label)
    for head, tail, label in document.facts or ():
      counts[label] += 1
      both[label].update((x, False) for x in of_pair[head, tail] - {label})
      both[label].update((x, True) for x in of_pair.get((tail, head), ()))
  return {
    label: Beside(
      frozenset(x for x, n in both[label].items() if n >= ALWAYS * count),
      frozenset(x for x, n in both[label].items() if n >= EVER * count),
    )
    for label, count in counts.items()
  }


def told(
  facts: Sequence[Holds], unknown: Sequence[Holds], others: Mapping[str, Beside]
) -> tuple[tuple[Holds, ...], tuple[Holds, ...]]:
  """Returns facts with those that always hold beside them, and what may hold."""
  every = dict.fromkeys(facts)
  may = dict.fromkeys(unknown)
  for fact in facts:
    if fact.label in others:
      every |= dict.fromkeys(_moved(fact, x) for x in sorted(others[fact.label].holds))
      may |= dict.fromkeys(_moved(fact, x) for x in sorted(others[fact.label].may))
  return tuple(every), tuple(x for x in may if x not in every)


def _moved(fact: Holds, other: tuple[str, bool]) -> Holds:
  label, turned = other
  return Holds(fact.tail, fact.head, label) if turned else fact._replace(label=label)


@dataclasses.dataclass(frozen=True)
class Phrase:
  """A text with slots for names, and facts between them by their letters."""

  text: str
  facts: tuple[tuple[str, str, str], ...]
  unknown: tuple[tuple[str, str, str], ...]

  @property
  def is_dev(self) -> bool:
    """Returns whether it is held out."""
    return hashlib.sha256(self.text.encode()).digest()[0] % HELD_OUT == 0


def read_phrases(labels: Sequence[str]) -> list[Phrase]:
  """Returns the phrases of the file, whose relations are among the labels."""
  phrases = []
  for line in PHRASES.read_text(encoding="utf-8").splitlines():
    text, _, given = line.partition("\t")
    parts = [x.strip() for x in given.split(";") if x.strip()]
    facts = [(x.removesuffix("?").split(maxsplit=1), x.endswith("?")) for x in parts]
    split = [((head, *rest.strip().rsplit(maxsplit=1)), open) for (head, rest), open in facts]
    known = {(head, label, tail): open for (head, label, tail), open in split}
    if lacking := {label for _, label, _ in known} - set(labels):
      raise ValueError(f"{PHRASES}: {text!r}: {lacking}")
    sure, may = ([x for x, open in known.items() if open is which] for which in (False, True))
    phrases.append(Phrase(text, tuple(sure), tuple(may)))
  return phrases


def names_by_type(documents: Sequence[FactsExample]) -> dict[str, list[str]]:
  """Returns how documents write names first, by their types, without adjectives of places."""
  names: dict[str, set[str]] = collections.defaultdict(set)
  for document in documents:
    for name in document.names:
      text = document.text[slice(*name.mentions[0])]
      is_adjective = name.label == "LOC" and DEMONYM.search(text)
      if not is_adjective and (text[:1].isupper() or text[:1].isdigit()):
        names[name.label].add(text)
  return {label: sorted(x) for label, x in names.items()}


def filled(
  phrases: Sequence[Phrase],
  names: Mapping[str, Sequence[str]],
  others: Mapping[str, Beside],
  drawn: random.Random,
) -> Iterator[FactsExample]:
  """Yields texts of one to three phrases, in whose slots stand names of their types."""
  order = drawn.sample(phrases, len(phrases))
  remaining, number = iter(order), itertools.count()
  while chosen := list(itertools.islice(remaining, drawn.choice(TOGETHER))):
    text, mentions, labels, facts, unknown = "", [], [], [], []
    taken: set[str] = set()
    for phrase in chosen:
      text += " " if text else ""
      numbers: dict[str, int] = {}
      words: dict[str, str] = {}
      last = 0
      for slot in SLOT.finditer(phrase.text):
        letter, label = slot.groups()
        text += phrase.text[last : slot.start()]
        if letter not in numbers:
          numbers[letter] = len(mentions)
          words[letter] = drawn.choice([x for x in names[label] if x not in taken])
          taken.add(words[letter])
          mentions.append([])
          labels.append(label)
        mentions[numbers[letter]].append((len(text), len(text) + len(words[letter])))
        text += words[letter]
        last = slot.end()
      text += phrase.text[last:]
      for given, to in ((phrase.facts, facts), (phrase.unknown, unknown)):
        of_phrase = (Holds(numbers[x], numbers[y], label) for x, label, y in given)
        to += [fact for fact in of_phrase if fact.label in others]
    holds, may = told(facts, unknown, others)
    of_text = tuple(NameOfText(tuple(x), label) for x, label in zip(mentions, labels, strict=True))
    yield FactsExample(f"phrases {next(number)}", "phrases", text, of_text, holds, may)
