"""Makes the world's tables from lists of names: the same ones every time."""

import random
from dataclasses import replace
from itertools import combinations, pairwise

from .draft import BLANK, Draft
from .invent_people import add_people, relate_people
from .invent_things import relate_things
from .world import FOLDER, IMPLIED, TOLD, UNSEEN, Entity, Fact, read_rows

SEED = 20
SEEN = ("no", "yes")
# Of each type, how many entities no page may name.
UNSEEN_COUNTS = {"person": 12, "city": 3, "team": 2, "book": 3, "film": 2, "song": 2, "company": 3}
# Facts that others imply: how many of a hundred are never told.
HIDDEN = {"in_country": 20, "citizen_of": 20, "speaks": 25}


def invented() -> tuple[list[Entity], list[Fact]]:
  """All entities and facts."""
  draft = Draft(random.Random(SEED))
  _add_places(draft)
  _add_things(draft)
  add_people(draft)
  _relate_places(draft)
  relate_people(draft)
  relate_things(draft)
  return _finished(draft)


def _add_places(draft: Draft) -> None:
  sizes = {
    "country": (2, 40, 1_000_000),
    "language": (2, 40, 1_000_000),
    "region": (20, 90, 10_000),
    "city": (9, 900, 1_000),
    "river": (60, 800, 1),
    "mountain": (900, 5200, 1),
    "lake": (4, 300, 1),
  }
  for row in read_rows(FOLDER / "names" / "places.tsv"):
    low, high, unit = sizes[row["type"]]
    year = draft.rng.randint(640, 1790) if row["type"] in ("city", "country") else 0
    short = row["name"].removeprefix("Mount ").removeprefix("Lake ").removeprefix("Jabal ")
    entity = replace(
      BLANK,
      type=row["type"],
      kind=row["type"],
      name=row["name"],
      short=row["demonym"] or short,
      native=row["native"],
      german=row["german"] if row["type"] != "city" or draft.rng.random() < 0.6 else "",
      japanese=row["japanese"],
      aliases=_place_aliases(row),
      year=year,
      number=draft.rng.randint(low, high) * unit + draft.rng.randint(0, unit - 1),
    )
    draft.add(entity, row["country"])


def _place_aliases(row: dict[str, str]) -> str:
  forms = {
    "country": [f"Republic of {row['name']}"],
    "river": [f"River {row['name']}", f"{row['name']} River"],
    "lake": [f"{row['name'].removeprefix('Lake ')} Lake"],
    "city": [f"City of {row['name']}"] if len(row["name"]) % 3 == 0 else [],
  }
  aliases = forms.get(row["type"], [])
  return "|".join(aliases + ([row["native"]] if row["native"] and row["type"] == "city" else []))


def _add_things(draft: Draft) -> None:
  years = {"book": (1890, 2015), "film": (1950, 2020), "song": (1955, 2021), "band": (1965, 2012)}
  years |= {"university": (1540, 1850), "award": (1870, 1895), "team": (1880, 1935)}
  years |= {"league": (1895, 1930), "tournament": (1920, 1955), "festival": (1925, 1955)}
  years |= {"party": (1880, 1935)}
  numbers = {
    "university": (2_000, 38_000),
    "company": (40, 9_000),
    "team": (4_000, 60_000),
    "book": (90, 640),
    "film": (74, 178),
    "song": (3, 58),
    "festival": (3_000, 90_000),
    "party": (900, 40_000),
    "building": (18, 140),
    "species": (2, 90),
  }
  for row in read_rows(FOLDER / "names" / "things.tsv"):
    entity = replace(
      BLANK,
      type=row["type"],
      kind=row["kind"],
      name=row["title"],
      short=row["short"] or row["title"],
      aliases=row["aliases"],
      german=row["german"],
      year=draft.rng.randint(*years.get(row["type"], (1820, 1960))),
      number=draft.rng.randint(*numbers.get(row["type"], (2, 99))),
    )
    draft.add(entity)


def _relate_places(draft: Draft) -> None:
  countries = draft.of("country")
  for country in countries:
    home = country.name
    regions, cities = draft.of("region", country=home), draft.of("city", country=home)
    for region in regions:
      draft.fact(region, "region_of", country)
    for number, city in enumerate(cities):
      draft.fact(city, "in_region", regions[number % len(regions)])
      draft.fact(city, "in_country", country)
    draft.fact(cities[0], "capital_of", country)
    draft.fact(draft.of("language", country=home)[0], "official_in", country)
    for place in draft.of("mountain", country=home) + draft.of("lake", country=home):
      draft.fact(place, "in_region", draft.rng.choice(regions))
    for number, river in enumerate(draft.of("river", country=home)):
      for city in cities[number :: 2 if number else 1][:3]:
        draft.fact(river, "flows_through", city)
      for lake in draft.of("lake", country=home):
        draft.fact(river, "flows_into", lake)
  for first, second in pairwise([*countries, countries[0]]):
    draft.fact(first, "neighbours", second)
  for first, second in draft.some(list(combinations(draft.of("city"), 2)), 30, 30):
    if draft.country[first.title] != draft.country[second.title]:
      draft.fact(first, "twinned_with", second, draft.rng.randint(1958, 2015))


def _finished(draft: Draft) -> tuple[list[Entity], list[Fact]]:
  """Gives titles and item numbers, and keeps some entities and some implied facts aside."""
  unseen = _unseen(draft)
  titles = _titles(draft.entities)
  entities = [
    replace(e, title=titles[e.title], item=f"Q{9000 + 7 * n}", seen=SEEN[e.title not in unseen])
    for n, e in enumerate(draft.entities)
  ]
  # Only what told facts imply may be hidden: of people whose birthplace has a page.
  open_facts = {f.subject for f in draft.facts if f.relation == "capital_of"}
  open_facts |= {f.subject for f in draft.facts if f.relation == "born_in" and f.object in unseen}
  facts = []
  for fact in draft.facts:
    status = TOLD
    if draft.rng.randrange(100) < HIDDEN.get(fact.relation, 0) and fact.subject not in open_facts:
      status = IMPLIED
    if fact.subject in unseen or fact.object in unseen:
      status = UNSEEN
    facts.append(
      replace(fact, subject=titles[fact.subject], object=titles[fact.object], status=status)
    )
  return entities, facts


def _unseen(draft: Draft) -> set[str]:
  """Entities that no page needs to name."""
  unseen: set[str] = set()
  written = "".join(path.read_text(encoding="utf-8") for path in (FOLDER / "pages").iterdir())
  for type, count in UNSEEN_COUNTS.items():
    kept = {f.object for f in draft.facts if f.relation == "named_after"}
    kept |= {f.subject for f in draft.facts if f.relation == "capital_of"}
    # A name that is part of another could not be kept off the pages.
    names = [name for e in draft.entities for name in (e.name, *e.redirects)]
    kept |= {e.title for e in draft.of(type) if sum(e.name in name for name in names) > 1}
    kept |= {e.title for e in draft.of(type) if e.name in written}
    free = [e.title for e in draft.of(type) if e.title not in kept]
    unseen |= set(draft.rng.sample(free, count))
  return unseen


def _titles(entities: list[Entity]) -> dict[str, str]:
  """A title of its own for each: places keep the plain name, others say what they are."""
  plain = ("city", "country", "region")
  taken: dict[str, list[Entity]] = {}
  for entity in entities:
    taken.setdefault(entity.name, []).append(entity)
  titles = {}
  for name, sharers in taken.items():
    for entity in sharers:
      alone = len(sharers) == 1 or entity.type in plain
      title = name if alone else f"{name} ({entity.kind.split(' ')[-1]})"
      if entity.type == "language":
        title = f"{name} language"
      titles[entity.title] = title
  return titles
