"""What WordNet adds to names with types: kinds above them, its own names, and common nouns."""

import pytest

from data.redocred.make import Document
from data.wiki_types.widen import Widening, judged, singular
from data.wiki_types.wordnet import WordNet
from luke_jax.tasks.facts.files import FactsExample, Holds, NameOfText

NOUNS = """  1 the licence
00000001 00 n 01 vehicle 0 000 | moves
00000002 00 n 01 ship 0 001 @ 00000001 n 0000 | a vessel
00000003 00 n 01 battleship 0 001 @ 00000002 n 0000 | with guns
00000004 00 n 01 city 0 000 | large
00000005 00 n 02 London 0 Greater_London 0 001 @i 00000004 n 0000 | a capital
00000006 00 n 01 person 0 000 | a human being
00000007 00 n 02 London 0 Jack_London 0 001 @i 00000006 n 0000 | a writer
00000008 00 n 01 musical_instrument 0 000 | sounds
00000009 00 n 01 viol 0 001 @ 00000008 n 0000 | bowed
00000010 00 n 01 pipe 0 001 @ 00000008 n 0000 | blown
00000011 00 n 01 pipe 0 000 | of water
"""
SENSES = {"London": ((5, 9), (7, 0)), "pipe": ((10, 1), (11, 3))}


@pytest.fixture
def widening(tmp_path):
  """The nouns above; each word means what is written of it, in that order."""
  meanings = {}
  for line in NOUNS.splitlines()[1:]:
    fields = line.split()
    for word in fields[4 : 4 + 2 * int(fields[3], 16) : 2]:
      meanings.setdefault(word.lower(), []).append(fields[0])
  index = [f"{word} n {len(x)} 0 {len(x)} 0 {' '.join(x)} " for word, x in meanings.items()]
  counts = [
    f"{word.lower()}%1:00:00:: {offset:08} 1 {count}"
    for word, senses in SENSES.items()
    for offset, count in senses
  ]
  (tmp_path / "data.noun").write_text(NOUNS)
  (tmp_path / "index.noun").write_text("\n".join(index) + "\n")
  (tmp_path / "index.sense").write_text("\n".join(counts) + "\n")
  for other in ("verb", "adj", "adv"):
    (tmp_path / f"index.{other}").write_text("")
  return Widening(WordNet(tmp_path))


def test_what_is_a_battleship_is_a_ship(widening):
  assert widening.labels(["battleship", "product"], "HMS Hood") == [
    *("battleship", "ship", "vehicle", "product")
  ]
  assert widening.labels(["person"], "London") == ["person"]  # whom no city is
  assert widening.labels(["location"], "London")[0] == "city"


def test_names_and_nouns_that_nobody_marked(widening):
  text = "London has a pipe and two viols."
  found = widening.widened(text, [], [[0, 6]])
  named = {text[start:end]: labels for start, end, *labels in found["spans"]}
  assert named == {"London": ["city", "town or city"], "viols": ["musical instrument"]}
  assert [text[a:b] for a, b in found["unknown"]] == ["pipe"]  # it may be an instrument, or not


def test_judged_relations_say_what_names_are():
  text = "The Hague is where Ana acts in Rain."
  names = [((0, 9), "LOC"), ((19, 22), "PER"), ((31, 35), "MISC")]
  names = tuple(NameOfText((bounds,), label) for bounds, label in names)
  facts = (Holds(2, 1, "cast member"),)
  example = FactsExample("1", "", text, names, facts, (), ((0, len(text)),))
  ((told, spans, unknown),) = judged(Document(example, {}))
  assert told == text and unknown == []
  assert spans[0] == [4, 9, "location", "place"]
  assert spans[1] == [19, 22, "actor", "person"]
  assert spans[2] == [31, 35, "film or TV series", "creative work"]


@pytest.mark.parametrize(
  ("plural", "one"),
  [("viols", "viol"), ("berries", "berry"), ("tomatoes", "tomato"), ("glass", "glass")],
)
def test_plurals(plural, one):
  assert singular(plural) == one
