"""Phrases become texts whose names stand where they say, with the facts that hold of them."""

import random

import pytest

from data.redocred import phrases
from data.redocred.phrases import SLOT, Beside
from luke_jax.tasks.facts.files import FactsExample, Holds, NameOfText
from luke_jax.tasks.relations.score import NO_RELATION

TYPES = ("PER", "ORG", "LOC", "TIME", "NUM", "MISC")
NAMES = {label: [f"{label.title()} {number}" for number in range(40)] for label in TYPES}


@pytest.fixture
def every():
  labels = {
    x.rsplit(maxsplit=1)[0].split(maxsplit=1)[1]
    for line in phrases.PHRASES.read_text(encoding="utf-8").splitlines()
    for x in line.partition("\t")[2].replace("?", "").split(";")
    if x.strip()
  }
  assert len(labels) == 96 and labels.isdisjoint(NO_RELATION)
  return phrases.read_phrases(sorted(labels))


def test_names_stand_where_texts_say_and_have_the_types_of_their_slots(every):
  assert len(every) > 1500 and sum(not x.facts for x in every) > 200
  others = {label: Beside(frozenset(), frozenset()) for x in every for _, label, _ in x.facts}
  made = list(phrases.filled(every, NAMES, others, random.Random(0)))
  slots = sum(len(SLOT.findall(x.text)) for x in every)
  assert slots == sum(len(name.mentions) for x in made for name in x.names)
  for example in made:
    for name in example.names:
      (written,) = {example.text[slice(*x)] for x in name.mentions}
      assert written in NAMES[name.label]
  assert sum(len(x.facts) for x in made) == sum(len(x.facts) for x in every)


def test_what_always_holds_beside_a_fact_is_told_and_what_may_is_left_open():
  names = (NameOfText(((0, 1),)), NameOfText(((2, 3),)))
  both = [Holds(0, 1, "child"), Holds(1, 0, "father")]
  fathers = [FactsExample("1", "1", "A B", names, tuple(both))] * 9
  mothers = [FactsExample("2", "2", "A B", names, (both[0], Holds(1, 0, "mother")))] * 4
  others = phrases.beside(fathers + mothers)
  assert others["father"].holds == {("child", True)}
  assert others["child"] == Beside(frozenset(), frozenset({("father", True), ("mother", True)}))
  facts, may = phrases.told([Holds(3, 2, "father")], [], others)
  assert facts == (Holds(3, 2, "father"), Holds(2, 3, "child")) and not may
  facts, may = phrases.told([Holds(2, 3, "child")], [], others)
  assert len(facts) == 1 and set(may) == {Holds(3, 2, "father"), Holds(3, 2, "mother")}
