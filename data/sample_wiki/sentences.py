"""Sentences as text and mentions of entities, and the templates they are made from.

A template is a sentence with slots in braces: {s} and {o} are the subject and object of a fact,
{s's} is a possessive, {s.kind} a noun for the entity, {a s.kind} the noun with its article,
{s.his} a pronoun; {he}, {his}, {him}, {kind} and {number} belong to the entity the sentence is
about, {year} to the fact, {year+30} is later, {peer} is another entity of the same type. In leads
a slot names a relation: {born_in} is its object, {~wrote} its subject.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from .world import FOLDER, Fact, read_rows


class Mention(NamedTuple):
  """The name of an entity in a text; `title` says which."""

  title: str
  text: str


class Span(NamedTuple):
  """A place in a plain text that names an entity: text[start:end]."""

  start: int
  end: int
  title: str


Piece = str | Mention


class Sentence(NamedTuple):
  """Text and mentions in turn, and the facts that they tell."""

  pieces: tuple[Piece, ...]
  facts: tuple[Fact, ...] = ()

  @property
  def titles(self) -> set[str]:
    """The entities that are named."""
    return {piece.title for piece in self.pieces if isinstance(piece, Mention)}


def plain(sentence: Sentence) -> tuple[str, list[Span]]:
  """The sentence without markup, and where its entities are."""
  text, spans = "", []
  for piece in sentence.pieces:
    words = piece.text if isinstance(piece, Mention) else piece
    if isinstance(piece, Mention):
      spans.append(Span(len(text), len(text) + len(words), piece.title))
    text += words
  return text, spans


def capitalised(pieces: list[Piece]) -> list[Piece]:
  """The pieces, beginning with a capital letter."""
  first, *rest = [piece for piece in pieces if piece]
  if isinstance(first, Mention):
    return [first._replace(text=first.text[:1].upper() + first.text[1:]), *rest]
  return [first[:1].upper() + first[1:], *rest]


Row = Mapping[str, str]


@dataclass(frozen=True)
class Templates:
  """The templates of a language."""

  facts: Mapping[tuple[str, str], list[Row]]  # by relation, and what they are about
  leads: Mapping[str, list[Row]]  # by type
  remarks: Mapping[str, list[Row]]  # by type


def read_templates(language: str) -> Templates:
  """Reads the templates of a language."""
  facts: dict[tuple[str, str], list[Row]] = {}
  for row in read_rows(FOLDER / "prose" / f"facts.{language}.tsv"):
    facts.setdefault((row["relation"], row["focus"]), []).append(row)
  tables: list[dict[str, list[Row]]] = [{}, {}]
  for name, table in zip(("leads", "remarks"), tables, strict=True):
    for row in read_rows(FOLDER / "prose" / f"{name}.{language}.tsv"):
      table.setdefault(row["type"], []).append(row)
  return Templates(facts, *tables)
