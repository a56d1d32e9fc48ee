"""Pages that are not about one entity: redirects, disambiguation, lists, other namespaces."""

import random
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from .wikitext import labelled, plural
from .world import FOLDER, Entity, World

# Links to pages that nobody has written.
RED_LINKS = (
  "Institute of Unwritten Books",
  "Guild of Kite Makers",
  "Bamboo",
  "Pigeon",
  "Umbrella",
  "Film studio",
  "The mayor",
  "Blotting",
)
# Redirects that lead astray, as some do everywhere: chains, a loop, a dead end, a section.
ODD_REDIRECTS = (
  ("Kastrell", "City of Castrell"),
  ("City of Castrell", "Castrel"),
  ("Lirioné", "Lirione River"),
  ("Heron Airlines", "Heron Airways"),
  ("The snake that bites", "The tail that is bitten"),
  ("The tail that is bitten", "The snake that bites"),
  ("Unwritten books", "Institute of Unwritten Books"),
  ("Castrel in song", "Castrel#In song"),
  ("golden inkwell prize winners", "golden_Inkwell"),
)
DISAMBIGUATION = ("{{disambiguation}}", "{{Disambig}}", "{{Disambiguation|geo}}", "{{dab}}")
TALK = """== Spelling ==
Should it be ''{name}'' or [[{name}s]]? --[[User:Quill|Quill]] 10:04, 3 May 2021 (UTC)
:The [[{other}]] article has it right. [[User:Quill|Quill]] ([[User talk:Quill|talk]])
::Agreed, '''closing'''. ~~~~
"""


class Page(NamedTuple):
  """A page of the dump."""

  title: str
  namespace: int
  text: str
  redirect: str = ""
  model: str = "wikitext"


def redirects(world: World) -> dict[str, str]:
  """Titles that are only other names of pages, and where they lead."""
  targets: dict[str, str] = {}
  for entity in world.pages:
    for alias in entity.redirects:
      if alias not in world.entities:
        targets.setdefault(alias, entity.title)
  return targets


def redirect_pages(targets: dict[str, str]) -> Iterator[Page]:
  """The redirects, in the spellings that people use."""
  for number, (title, target) in enumerate([*targets.items(), *ODD_REDIRECTS]):
    word = ("#REDIRECT", "#redirect", "#Redirect", "#REDIRECT:")[number % 4]
    text = f"{word} [[{target}]]" + ("\n\n{{R from alternative name}}" if number % 3 else "")
    title = title[:1].upper() + title[1:]
    yield Page(title, 0, text, target.replace("_", " ").partition("#")[0])


def disambiguation_pages(world: World, taken: set[str]) -> Iterator[Page]:
  """A page for each name that three entities share, or two under the same full name."""
  sharers: dict[str, list[Entity]] = {}
  for entity in world.pages:
    for name in dict.fromkeys((entity.name, entity.short)):
      sharers.setdefault(name, []).append(entity)
  for number, (name, entities) in enumerate(sorted(sharers.items())):
    full = sum(entity.name == name for entity in entities)
    if len(entities) < 3 and full < 2:
      continue
    title = name if name not in taken else f"{name} (disambiguation)"
    lines = [f"* [[{e.title}]], {_with_article(e.kind)}" for e in entities]
    if number % 3 == 0:
      lines.insert(len(lines) // 2, "== Others ==")
    text = f"'''{name}''' may refer to:\n" + "\n".join(lines)
    yield Page(title, 0, f"{text}\n\n{DISAMBIGUATION[number % 4]}")


def list_pages(world: World) -> Iterator[Page]:
  """A list of the entities of each type, as a table."""
  for type in dict.fromkeys(entity.type for entity in world.pages):
    rows = []
    for entity in world.pages:
      if entity.type == type:
        link = labelled(entity.title, entity.name)
        rows.append(f"|-\n| {link} || {entity.kind} || {entity.year or '&mdash;'}")
    head = (
      '{| class="wikitable" style="width:80%"\n! Name !! Kind\n! data-sort-type="number" | Year\n'
    )
    intro = f"This is a '''list of {plural(type)}''' with articles.{{{{efn|Others wait.}}}}"
    body = head + "\n".join(rows) + "\n|}"
    yield Page(f"List of {plural(type)}", 0, f"{intro}\n\n{body}\n\n[[Category:Lists]]")


def written_pages() -> Iterator[Page]:
  """The pages written by hand, in the folder `pages`: the file's first line is its heading."""
  for path in sorted((FOLDER / "pages").glob("*.txt")):
    head, _, text = path.read_text(encoding="utf-8").partition("\n")
    namespace, model, title = head.split("\t")
    yield Page(title, int(namespace), text.rstrip("\n"), model=model)


def talk_pages(entities: Sequence[Entity], rng: random.Random) -> Iterator[Page]:
  """Some pages of the namespaces that are not for articles."""
  for entity in rng.sample(entities, 12):
    other = rng.choice(entities).title
    yield Page(f"Talk:{entity.title}", 1, TALK.format(name=entity.name, other=other))
  for entity in rng.sample(entities, 6):
    text = (
      f"{{{{Information|description=''{entity.name}'' in a drawing, see [[{entity.title}]].}}}}"
    )
    yield Page(f"File:{entity.name} ({entity.type}).jpg", 6, text)
  for type in dict.fromkeys(entity.type for entity in entities):
    noun = plural(type).capitalize()
    yield Page(f"Category:{noun}", 14, f"See [[List of {plural(type)}]].\n\n[[Category:Contents]]")


def _with_article(kind: str) -> str:
  return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"
