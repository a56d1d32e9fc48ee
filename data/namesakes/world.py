"""The world: names, what bears them, and what can be said of each."""

import random
from typing import NamedTuple

SEED = 1
NAMES = 120
SHARED = 5  # things that bear a name, each of another kind
COUNTRIES = (
  "Arvenia",
  "Belmark",
  "Corvany",
  "Dunmere",
  "Estoria",
  "Falmoor",
  "Gravenia",
  "Hestmark",
)
# What is only said of things of a kind; {} is the name.
KINDS = {
  "river": ("{} flows to the sea.", "Boats go up the river {}.", "The water of {} is cold."),
  "singer": ("{} sings old songs.", "The singer {} has a deep voice.", "{} gave a concert."),
  "painter": ("{} paints in oil.", "The painter {} shows portraits.", "A canvas by {} was sold."),
  "village": ("{} has a church and an inn.", "The village {} is small.", "Farmers live in {}."),
  "ship": ("{} sails with ten sailors.", "The ship {} lost a mast.", "{} came into the harbour."),
  "club": ("{} won the match.", "The club {} plays in red.", "A goal decided it for {}."),
}
# What is said of things of all kinds; the second is the country.
COUNTRY = (
  "{} is known all over {}.",
  "In a book about {1} there is a page on {0}.",
  "{} belongs to {}.",
  "Of all that {1} is proud of, {0} comes first.",
)
PLAIN = ("{} is a {}.", "There is a {1} called {0}.")
SYLLABLES = (
  "or",
  "kel",
  "mir",
  "ta",
  "sen",
  "vol",
  "bri",
  "nar",
  "du",
  "fen",
  "gal",
  "hus",
  "li",
  "pek",
)


class Thing(NamedTuple):
  """Something with a name that it shares with others."""

  name: str
  kind: str
  country: str

  @property
  def title(self) -> str:
    """Returns the title of its page, which only it has."""
    return f"{self.name} ({self.kind})"


def things(seed: int = SEED) -> list[Thing]:
  """Returns all things, those of a name one after the other."""
  rng = random.Random(seed)
  found = []
  for name in names(rng):
    kinds = rng.sample(list(KINDS), SHARED)
    countries = rng.sample(COUNTRIES, SHARED)
    found += [Thing(name, *pair) for pair in zip(kinds, countries, strict=True)]
  return found


def names(rng: random.Random) -> list[str]:
  """Returns different names of three syllables."""
  found: dict[str, None] = {}
  while len(found) < NAMES:
    found["".join(rng.sample(SYLLABLES, 3)).capitalize()] = None
  return list(found)
