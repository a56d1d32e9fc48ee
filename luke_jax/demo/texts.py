"""Texts that stand in no file of the sample tasks, about the world of the sample wiki."""

from typing import NamedTuple

NAMES = (
  "Lucella Brunetti-Vay was born in Castrel. In 2011 she signed for Tsukigawa Comets, and a year"
  " later she received the Bronze Boot in Hoshima."
)
ATTENDED = "Aurelio Verdano wrote A Grammar of Rain in Velmora."
TYPED = (
  ("Aurelio Verdano was born in Castrel.", "Aurelio Verdano"),
  ("The Eldra flows through Hvitdal.", "Eldra"),
  ("Sigrun Eldrason played for Lokomotiv Gorinsk.", "Lokomotiv Gorinsk"),
)
RELATED = (
  ("Lucella Brunetti-Vay", "Castrel"),
  ("Lucella Brunetti-Vay", "Tsukigawa Comets"),
  ("Lucella Brunetti-Vay", "Bronze Boot"),
)
ALIKE = ("Velmora", "Castrel", "Aurelio Verdano", "Lokomotiv Gorinsk")


class Asked(NamedTuple):
  """A passage, a question or a sentence with a gap, and the entities that the passage names."""

  text: str
  question: str
  names: tuple[str, ...] = ()


GAP = Asked(
  "Halvdan Skarholt was born in Hvitdal. In 2004 the footballer joined Zenit Zarechna. Renzo"
  " Castellari played for Meghapur Tigers.",
  "Halvdan Skarholt played for @placeholder from 2004 on.",
  ("Halvdan Skarholt", "Hvitdal", "Zenit Zarechna", "Renzo Castellari", "Meghapur Tigers"),
)
QUESTION = Asked(
  "Marenza Montaro was born in Castrel. In 1981 she signed for Tsukigawa Comets. Renzo Castellari"
  " was born in Longdu.",
  "Where was Marenza Montaro born?",
)


def place(text: str, name: str) -> tuple[int, int]:
  """Where a name first stands in a text."""
  start = text.index(name)
  return start, start + len(name)
