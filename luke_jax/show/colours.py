"""Colours of labels: a label has the same one on every page, in notebooks and in the terminal.

Right and wrong are green and red, so no label has such a hue. A label's name always stands beside
its colour, for people who cannot distinguish it.
"""

import zlib

# Labels of one kind have neighbouring hues, other kinds distant ones.
_USUAL = {
  22: "building",
  28: "city",
  35: "location",
  41: "country",
  47: "river",
  50: "tail",
  54: "book",
  56: "work",
  58: "film",
  60: "song",
  181: "award",
  184: "event",
  187: "election",
  191: "head",
  196: "scientist",
  202: "researcher",
  208: "politician",
  215: "person",
  222: "writer",
  228: "musician",
  234: "artist",
  240: "athlete",
  250: "answer",
  260: "political party",
  266: "university",
  272: "company",
  280: "organization",
  287: "team",
  293: "band",
  304: "language",
  310: "product",
  322: "miscellaneous",
  332: "species",
}
_SYNONYMS = {
  "per": "person",
  "people": "person",
  "human": "person",
  "loc": "location",
  "place": "location",
  "gpe": "country",
  "fac": "building",
  "facility": "building",
  "org": "organization",
  "organisation": "organization",
  "corporation": "company",
  "group": "team",
  "misc": "miscellaneous",
  "other": "miscellaneous",
  "work of art": "work",
  "creative work": "work",
  "creative-work": "work",
}
_HUES = {name: hue for hue, name in _USUAL.items()}
# Neither green nor red, nor that of a usual label.
_FREE = [hue for hue in (*range(20, 61), *range(180, 341)) if hue not in _USUAL]
_TERMINAL = {
  35: "yellow",
  56: "bright_yellow",
  184: "cyan",
  215: "blue",
  250: "bright_blue",
  280: "magenta",
  322: "bright_magenta",
}


def hue(label: str) -> int:
  """Returns the hue of a label in degrees, which depends on nothing else."""
  name = label.casefold().replace("_", " ")
  name = _SYNONYMS.get(name, name)
  return _HUES[name] if name in _HUES else _FREE[zlib.crc32(name.encode()) % len(_FREE)]


def terminal_colour(label: str) -> str:
  """Returns the terminal's colour that is nearest to a label's hue."""
  own = hue(label)
  return _TERMINAL[min(_TERMINAL, key=lambda other: abs(other - own))]
