"""Invents the people of the world: who they are, and what they did with whom."""

from .draft import LATEST, Draft
from .world import FOLDER, Entity, read_rows

# The professions of twelve people of a country, with the years in which they may be born.
PROFESSIONS = (
  *(("footballer", 1958, 1992),) * 4,
  *(("novelist", 1868, 1972),) * 2,
  ("singer", 1935, 1990),
  ("politician", 1920, 1975),
  ("film director", 1925, 1980),
  ("actor", 1930, 1990),
)
MORE = (
  ("botanist", 1850, 1970),
  ("pianist", 1930, 1985),
  ("architect", 1860, 1975),
  ("poet", 1870, 1975),
  ("astronomer", 1860, 1980),
  ("drummer", 1940, 1990),
  ("zoologist", 1860, 1970),
  ("chess player", 1930, 1990),
  ("guitarist", 1940, 1990),
)
FOUNDED = {"publisher": (1880, 1894), "film studio": (1925, 1945), "record label": (1935, 1955)}
MUSICIANS = ("singer", "pianist", "drummer", "guitarist")
WRITERS = ("novelist", "poet")
SCIENTISTS = ("botanist", "astronomer", "zoologist")


def add_people(draft: Draft) -> None:
  """Twelve people for each country; given and family names are its own."""
  names: dict[tuple[str, str], list[tuple[str, str]]] = {}
  for row in read_rows(FOLDER / "names" / "people.tsv"):
    split = (name.partition("=") for name in row["names"].split(" "))
    names[row["country"], row["part"]] = [(name, native) for name, _, native in split]
  countries = list(dict.fromkeys(country for country, _ in names))
  for number, country in enumerate(countries):
    more = [MORE[(number + shift) % len(MORE)] for shift in (0, 3, 5)]
    for turn, (kind, first, last) in enumerate((*PROFESSIONS, *more)):
      pronoun = "she" if turn % 2 else "he"
      given = names[country, pronoun][turn // 2 % len(names[country, pronoun])]
      families = names[country, "family"]
      family = families[(turn + turn // len(families)) % len(families)]
      while any(e.name == f"{given[0]} {family[0]}" for e in draft.of("person")):
        family = draft.rng.choice(families)
      draft.add(_person(draft, (kind, pronoun, given, family), (first, last)), country)


def _person(
  draft: Draft, parts: tuple[str, str, tuple[str, str], tuple[str, str]], years: tuple[int, int]
) -> Entity:
  kind, pronoun, (given, given_native), (family, family_native) = parts
  joint = "" if given_native and ord(given_native[0]) > 0x3000 else " "
  order = (family_native, given_native) if not joint else (given_native, family_native)
  return Entity(
    title="",
    type="person",
    kind="actress" if (kind, pronoun) == ("actor", "she") else kind,
    name=f"{given} {family}",
    short=family,
    pronoun=pronoun,
    article="",
    aliases=f"{given[0]}. {family}" if draft.rng.random() < 0.25 else "",
    native=joint.join(order) if given_native else "",
    german=f"{given} {family}" if draft.rng.random() < 0.25 else "",
    japanese="",
    year=draft.rng.randint(*years),
    number=draft.rng.randint(2, 19),
    item="",
    seen="yes",
  )


def relate_people(draft: Draft) -> None:
  """Invents the origins of people, and their deeds."""
  university = draft.turns(draft.of("university"))
  for person in draft.of("person"):
    home = draft.country[person.title]
    city = draft.rng.choice(draft.of("city", country=home))
    draft.fact(person, "born_in", city, person.year)
    draft.fact(person, "citizen_of", draft.of("country", country=home)[0])
    draft.fact(person, "speaks", draft.of("language", country=home)[0])
    if person.kind != "footballer":
      draft.fact(person, "studied_at", university(), person.year + draft.rng.randint(18, 21))
    if person.year < 1945:
      death = min(person.year + draft.rng.randint(54, 93), 2019)
      draft.fact(person, "died_in", draft.rng.choice(draft.of("city")), death)
  for relate in (_footballers, _writers, _film_people, _musicians, _scientists, _others, _families):
    relate(draft)


def _people(draft: Draft, *kinds: str) -> list[Entity]:
  return [e for e in draft.of("person") if e.kind in kinds]


def _honour(draft: Draft, person: Entity, award: str, age: int) -> None:
  draft.fact(person, "received", draft.of("award", award)[0], min(person.year + age, LATEST))


def _footballers(draft: Draft) -> None:
  team, boot = draft.turns(draft.of("team")), draft.of("award", "football award")[0]
  for player in _people(draft, "footballer"):
    for number in range(draft.rng.randint(2, 3)):
      draft.fact(player, "plays_for", team(), player.year + 19 + 5 * number)
    if player.year < 1980:
      draft.fact(player, "coaches", team(), player.year + 41)
    if draft.rng.random() < 0.3:
      draft.fact(player, "received", boot, player.year + 25)


def _writers(draft: Draft) -> None:
  writers = _people(draft, *WRITERS)
  poet, novelist = draft.turns(_people(draft, "poet")), draft.turns(_people(draft, "novelist"))
  for book in draft.of("book"):
    author = poet() if book.kind == "poetry collection" else novelist()
    book = draft.dated(book, min(author.year + draft.rng.randint(26, 60), LATEST))
    draft.fact(author, "wrote", book, book.year)
    living = [w for w in writers if w.year + 25 <= book.year + 2 and book.year + 9 < w.year + 60]
    living = [w for w in living if w.title != author.title]
    for translator in draft.some(living, 1, 1):
      draft.fact(translator, "translated", book, min(book.year + draft.rng.randint(2, 6), LATEST))
  for writer in writers:
    elders = [w for w in writers if w.year + 15 < writer.year]
    for elder in draft.some(elders, 1, 2):
      draft.fact(writer, "influenced_by", elder)
    if draft.rng.random() < 0.4:
      _honour(draft, writer, "literary prize", 52)


def _film_people(draft: Draft) -> None:
  director = draft.turns(_people(draft, "film director"))
  actor = draft.turns(_people(draft, "actor", "actress"))
  for film in draft.of("film"):
    maker = director()
    film = draft.dated(film, min(maker.year + draft.rng.randint(29, 55), LATEST))
    draft.fact(maker, "directed", film, film.year)
    players = [actor() for _ in range(7)]
    players = [p for p in dict.fromkeys(players) if p.year + 17 < film.year < p.year + 54]
    for player in players[:3]:
      draft.fact(player, "acted_in", film, film.year)
  for person in _people(draft, "film director", "actor", "actress"):
    if draft.rng.random() < 0.4:
      _honour(draft, person, "film award", 44)


def _musicians(draft: Draft) -> None:
  musicians = _people(draft, *MUSICIANS)
  performer = draft.turns(draft.of("band") + [m for m in musicians if m.kind in MUSICIANS[:2]])
  for song in draft.of("song"):
    artist = performer()
    later = draft.rng.randint(22, 40) if artist.type == "person" else draft.rng.randint(1, 14)
    song = draft.dated(song, min(artist.year + later, LATEST))
    draft.fact(artist, "performed", song, song.year)
  band = draft.turns(draft.of("band"))
  for musician in musicians:
    group = band()
    draft.fact(musician, "member_of", group, max(musician.year + 22, group.year))
    if draft.rng.random() < 0.3:
      _honour(draft, musician, "music award", 40)


def _scientists(draft: Draft) -> None:
  scientists = _people(draft, *SCIENTISTS)
  university = draft.turns(draft.of("university"))
  naturalists = draft.turns(_people(draft, "botanist", "zoologist"))
  for species in draft.of("species"):
    naturalist = naturalists()
    species = draft.dated(species, min(naturalist.year + draft.rng.randint(26, 50), LATEST))
    draft.fact(naturalist, "discovered", species, species.year)
  for scientist in scientists:
    draft.fact(scientist, "teaches_at", university(), scientist.year + 31)
    teachers = [s for s in scientists if s.year + 12 < scientist.year < s.year + 50]
    for teacher in draft.some(teachers, 0, 1):
      draft.fact(scientist, "student_of", teacher)
    if draft.rng.random() < 0.5:
      _honour(draft, scientist, "science prize", 48)


def _others(draft: Draft) -> None:
  party = draft.turns(draft.of("party"))
  for politician in _people(draft, "politician"):
    draft.fact(politician, "belongs_to", party(), politician.year + 24)
    for number in range(2):
      cities = draft.of("city", country=draft.country[politician.title])
      year = politician.year + 36 + 9 * number
      draft.fact(politician, "mayor_of", draft.rng.choice(cities), year)
  architect = draft.turns(_people(draft, "architect"))
  for building in draft.of("building"):
    maker = architect()
    building = draft.dated(building, min(maker.year + draft.rng.randint(28, 55), LATEST))
    draft.fact(maker, "designed", building, building.year)
  founders: set[str] = set()
  for company in draft.of("company"):
    low, high = FOUNDED.get(company.kind, (1880, 1995))
    people = [p for p in draft.of("person") if low - 45 <= p.year <= high - 25]
    fresh = [p for p in people if p.title not in founders] or people
    if not fresh:
      draft.dated(company, low)
      continue
    maker = draft.rng.choice(fresh)
    founders.add(maker.title)
    year = draft.rng.randint(max(low, maker.year + 25), min(high, maker.year + 45))
    draft.fact(maker, "founded", draft.dated(company, year), year)
  remembered = draft.turns([p for p in draft.of("person") if p.year < 1910])
  for thing in draft.of("building")[3::2] + draft.of("festival"):
    draft.fact(thing, "commemorates", remembered())


def _families(draft: Draft) -> None:
  people = draft.of("person")
  free = draft.rng.sample(people, len(people))
  while len(free) > 40:
    person = free.pop()
    for other in free:
      if other.pronoun != person.pronoun and abs(other.year - person.year) < 9:
        free.remove(other)
        draft.fact(person, "married_to", other, min(max(person.year, other.year) + 28, LATEST))
        break
