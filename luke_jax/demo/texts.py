"""Texts about the world of the sample wiki that are in none of the sample tasks' files."""

NAMES = (
  "Lucella Brunetti-Vay was born in Castrel. In 2011 she signed for Tsukigawa Comets, and a year"
  " later she received the Bronze Boot in Hoshima."
)
NAMED = (
  ("Lucella Brunetti-Vay", "PER"),
  ("Castrel", "LOC"),
  ("Tsukigawa Comets", "ORG"),
  ("Bronze Boot", "MISC"),
  ("Hoshima", "LOC"),
)
ATTENDED = "Aurelio Verdano wrote A Grammar of Rain in Velmora."
TYPED = (
  ("Aurelio Verdano was born in Castrel.", "Aurelio Verdano", "person, writer"),
  ("The Eldra flows through Hvitdal.", "Eldra", "place, river"),
  ("Sigrun Eldrason played for Lokomotiv Gorinsk.", "Lokomotiv Gorinsk", "organization, team"),
)
ALIKE = ("Velmora", "Castrel", "Aurelio Verdano", "Lokomotiv Gorinsk")


def place(text: str, name: str) -> tuple[int, int]:
  """Returns the span where a name first occurs in a text."""
  start = text.index(name)
  return start, start + len(name)
