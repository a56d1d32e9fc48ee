"""Relates the organisations, works and sights of the world to each other."""

from .draft import LATEST, Draft
from .world import Entity


def relate_things(draft: Draft) -> None:
  """Invents the places of things, their makers and their namesakes."""
  for relate in (_relate_organisations, _relate_works, _relate_scenery, _relate_names):
    relate(draft)


def _relate_organisations(draft: Draft) -> None:
  city = draft.turns(draft.of("city"))
  league, sponsor = draft.turns(draft.of("league")), draft.turns(draft.of("company"))
  for team in draft.of("team"):
    draft.fact(team, "team_of", _namesake(draft, team) or city())
    draft.fact(team, "competes_in", league())
    patron = sponsor()
    draft.fact(patron, "sponsors", team, max(draft.rng.randint(1985, 2018), patron.year + 2))
  teams = draft.rng.sample(draft.of("team"), len(draft.of("team")))
  for first, second in zip(teams[::2], teams[1::2], strict=False):
    draft.fact(first, "rival_of", second)
  for stadium, team in zip(draft.of("building", "stadium"), draft.of("team")[::5], strict=False):
    draft.fact(team, "plays_at", stadium)
  for cup in draft.of("tournament", "football cup"):
    for number, team in enumerate(draft.some(draft.of("team"), 8, 8)):
      draft.fact(team, "won", cup, 1974 + 5 * number + draft.rng.randint(0, 4))
  places = [("company", "headquartered_in"), ("university", "university_in")]
  places += [("building", "located_in"), ("band", "formed_in")]
  places += [("festival", "held_in"), ("tournament", "held_in")]
  for type, relation in places:
    for thing in draft.of(type):
      draft.fact(thing, relation, _namesake(draft, thing) or city())
  for party in draft.of("party"):
    for country in draft.some(draft.of("country"), 2, 4):
      draft.fact(party, "active_in", country)
  region = draft.turns(draft.of("region"))
  for species in draft.of("species"):
    draft.fact(species, "lives_in", region())
    draft.fact(species, "lives_in", region())


def _namesake(draft: Draft, thing: Entity) -> Entity | None:
  cities = (c for c in draft.of("city") if c.name in thing.name)
  return next(cities, None)


def _relate_works(draft: Draft) -> None:
  city = draft.turns(draft.of("city"))
  publisher = draft.turns(draft.of("company", "publisher"))
  studio = draft.turns(draft.of("company", "film studio"))
  label = draft.turns(draft.of("company", "record label"))
  festival = draft.turns(draft.of("festival", "film festival") + draft.of("festival")[3:5])
  for book in draft.of("book"):
    draft.fact(book, "published_by", publisher(), book.year)
    draft.fact(book, "set_in", _namesake(draft, book) or city())
  for film in draft.of("film"):
    draft.fact(film, "produced_by", studio(), film.year)
    draft.fact(film, "set_in", _namesake(draft, film) or city())
    draft.fact(film, "shown_at", festival(), film.year)
    for book in draft.of("book"):
      if book.name == film.name or (draft.rng.random() < 0.02 and book.year < film.year):
        draft.fact(film, "based_on", book)
  for song in draft.of("song"):
    draft.fact(song, "released_by", label(), song.year)
  for award, type in (("Golden Inkwell", "book"), ("Silver Lantern", "film")):
    prize = next(e for e in draft.of("award") if e.name == award)
    for work in draft.some(draft.of(type), 8, 8):
      draft.fact(work, "received", prize, min(work.year + 1, LATEST))
  for song in draft.some(draft.of("song"), 7, 7):
    draft.fact(song, "received", draft.of("award", "music award")[0], min(song.year + 1, LATEST))


def _relate_scenery(draft: Draft) -> None:
  sights = draft.of("river") + draft.of("lake") + draft.of("mountain")
  sight = draft.turns(sights)
  for building in draft.of("building"):
    draft.fact(building, "overlooks", sight())
  for song in draft.of("song"):
    draft.fact(song, "about", sight())
    draft.fact(song, "about", draft.rng.choice(draft.of("city")))
  place = draft.turns(draft.of("region") + sights)
  for film in draft.of("film"):
    for _ in range(2):
      draft.fact(film, "filmed_at", place(), film.year - 1)
  for species in draft.of("species"):
    for _ in range(3):
      draft.fact(species, "seen_at", sight())
  for river in draft.of("river"):
    home = draft.country[river.title]
    draft.fact(river, "rises_on", draft.rng.choice(draft.of("mountain", country=home)))
  festival, company = draft.turns(draft.of("festival")), draft.turns(draft.of("company"))
  writers = [p for p in draft.of("person", "novelist") if p.year >= 1945]
  for guest in draft.of("band") * 2 + writers:
    draft.fact(guest, "appeared_at", festival(), draft.rng.randint(2012, 2021))
  for feast in draft.of("festival") * 2:
    patron = company()
    draft.fact(patron, "supports", feast, max(draft.rng.randint(1980, 2019), patron.year + 2))
  people = draft.turns([p for p in draft.of("person") if p.year < 1930])
  for keeper in draft.of("university") + draft.of("building", "museum") * 2:
    draft.fact(keeper, "collects", people())


def _relate_names(draft: Draft) -> None:
  types = ("company", "building", "band", "award", "party")
  things = [e for e in draft.entities if e.type in types]
  things += draft.of("species") + draft.of("tournament") + draft.of("book") + draft.of("song")
  places = draft.of("river") + draft.of("mountain") + draft.of("lake")
  for thing in things:
    for place in places:
      if place.short in thing.name.replace("-", " ").split(" ") or place.short == thing.name:
        draft.fact(thing, "named_after", place)
