"""Gives typed names more kinds and texts more typed names, to learn labels from."""

import json
import random
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import Positional, arg

from data.redocred.make import Document, split_documents
from data.wiki_types.kinds import kinds_of, words
from data.wiki_types.wordnet import WordNet
from luke_jax.cli import script
from luke_jax.training.metrics import summary_line

_WORD = re.compile(r"\w+(?:-\w+)*")
_LONGEST = 3  # words of a common noun
_MOST = 9  # labels of a name
# Labels that say all that WordNet would.
_CLOSED = words(
  "date month nationality location place person organization organisation event species organism"
  " product award"
)
# What judged relations say of their first and of their second name; by the types that these have.
_FIRST = {
  "member of sports team": {"PER": ("athlete", "sportsperson")},
  "member of political party": {"PER": ("politician",)},
  "military branch": {"PER": ("military officer", "soldier")},
  "league": {"ORG": ("sports team", "sports club")},
  "author": {"MISC": ("book", "written work", "creative work")},
  "director": {"MISC": ("film or TV series", "creative work")},
  "screenwriter": {"MISC": ("film or TV series", "creative work")},
  "cast member": {"MISC": ("film or TV series", "creative work")},
  "composer": {"MISC": ("musical work", "creative work")},
  "lyrics by": {"MISC": ("song", "musical work", "creative work")},
  "record label": {"MISC": ("song or album", "musical work", "creative work")},
  "performer": {"MISC": ("creative work",)},
  "platform": {"MISC": ("video game", "game", "creative work")},
  "creator": {"MISC": ("creative work",)},
  "parent taxon": {"MISC": ("species", "taxon", "organism")},
  "mouth of the watercourse": {"LOC": ("river", "body of water")},
  "basin country": {"LOC": ("river or lake", "body of water")},
  "capital of": {"LOC": ("capital", "city")},
  "sister city": {"LOC": ("city", "town or city")},
  "head of government": {"LOC": ("country or city",)},
  "present in work": {"PER": ("fictional character",), "MISC": ("fictional character",)},
}
_SECOND = {
  "country": {"LOC": ("country",)},
  "country of citizenship": {"LOC": ("country",)},
  "country of origin": {"LOC": ("country",)},
  "continent": {"LOC": ("continent",)},
  "capital": {"LOC": ("capital", "city")},
  "sister city": {"LOC": ("city", "town or city")},
  "head of government": {"PER": ("politician",)},
  "head of state": {"PER": ("politician", "head of state")},
  "member of sports team": {"ORG": ("sports team", "sports club")},
  "educated at": {"ORG": ("university or school", "educational institution")},
  "member of political party": {"ORG": ("political party",)},
  "religion": {"MISC": ("religion",), "ORG": ("religion",)},
  "director": {"PER": ("film director", "director")},
  "screenwriter": {"PER": ("screenwriter", "writer")},
  "author": {"PER": ("author", "writer")},
  "composer": {"PER": ("composer", "musician")},
  "lyrics by": {"PER": ("songwriter", "musician")},
  "cast member": {"PER": ("actor",)},
  "producer": {"PER": ("producer",)},
  "performer": {"PER": ("musician", "artist"), "ORG": ("band", "musical group")},
  "manufacturer": {"ORG": ("company", "manufacturer")},
  "developer": {"ORG": ("company", "developer")},
  "publisher": {"ORG": ("company", "publisher")},
  "record label": {"ORG": ("record label", "company")},
  "production company": {"ORG": ("production company", "company")},
  "original broadcaster": {"ORG": ("television channel", "broadcaster", "company")},
  "award received": {"MISC": ("award",)},
  "located in or next to body of water": {"LOC": ("body of water",)},
  "mouth of the watercourse": {"LOC": ("body of water",)},
  "military branch": {"ORG": ("military branch", "armed forces")},
  "conflict": {"MISC": ("war or battle", "conflict", "event")},
  "ethnic group": {"MISC": ("ethnic group",)},
  "languages spoken, written or signed": {"MISC": ("language",)},
  "official language": {"MISC": ("language",)},
  "original language of film or TV show": {"MISC": ("language",)},
  "platform": {"MISC": ("platform", "video game console")},
  "league": {"ORG": ("sports league",), "MISC": ("sports league",)},
  "genre": {"MISC": ("genre",)},
  "characters": {"PER": ("fictional character",), "MISC": ("fictional character",)},
  "legislative body": {"ORG": ("legislature", "parliament")},
  "participant in": {"MISC": ("event",)},
  "position held": {"MISC": ("position",)},
}
_COARSE = {
  "PER": ("person",),
  "LOC": ("location", "place"),
  "ORG": ("organization", "organisation"),
  "TIME": ("date",),
}


class Widening:
  """Kinds of WordNet for typed names, and its own names and nouns in texts."""

  def __init__(self, wordnet: WordNet):
    self.wordnet, self.names = wordnet, wordnet.names()
    self.nouns = wordnet.common_nouns()
    self.firsts = {noun.split()[0] for noun in self.nouns}

  def labels(self, own: Sequence[str], name: str) -> list[str]:
    """Returns the labels of a name and the kinds that WordNet knows them, or it, to be of."""
    added: dict[str, None] = {}
    if _CLOSED.issuperset(own) and ("person" in own) == ("person" in self.names.get(name, ())):
      added |= dict.fromkeys(self.names.get(name, ()))
    for label in own:
      head = label.split()[-1]
      if label in _CLOSED or head in _CLOSED:
        continue
      kinds, known = self.wordnet.of_noun(head), kinds_of(head)
      if known and ("person" in known) != ("person" in kinds):
        continue
      added |= dict.fromkeys(kinds)
    special = [x for x in own if x not in _CLOSED]
    usual = [x for x in own if x in _CLOSED]
    return list(dict.fromkeys([*special[:4], *added, *usual]))[:_MOST]

  def widened(
    self, text: str, spans: Sequence[list[Any]], unknown: Sequence[Sequence[int]]
  ) -> dict[str, Any]:
    """Returns an example with more labels, and with the names and nouns that WordNet knows."""
    once = {(start, end): own for start, end, *own in spans}  # of two things with one name
    typed: list[list[Any]] = [[*x, *self.labels(own, text[slice(*x)])] for x, own in once.items()]
    left: list[list[int]] = []
    for start, end in unknown:
      name = text[start:end]
      kinds = self.names.get(name) or self.nouns.get(name)
      if kinds:
        typed.append([start, end, *kinds[:_MOST]])
      else:
        left.append([start, end])
    taken = [(x[0], x[1]) for x in [*typed, *left]]
    for start, end, kinds in self._nouns_in(text):
      if any(start < y and x < end for x, y in taken):
        continue
      if kinds:
        typed.append([start, end, *kinds[:_MOST]])
      else:
        left.append([start, end])
    return {"text": text, "spans": sorted(typed, key=lambda x: x[:2]), "unknown": left}

  def _nouns_in(self, text: str) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    bounds = [x.span() for x in _WORD.finditer(text)]
    place = 0
    while place < len(bounds):
      start, found = bounds[place][0], None
      first = text[slice(*bounds[place])]
      if first.islower() and (first in self.firsts or singular(first) in self.firsts):
        for after in range(min(len(bounds), place + _LONGEST), place, -1):
          phrase = text[start : bounds[after - 1][1]]
          kinds = self.nouns.get(phrase, self.nouns.get(singular(phrase)))
          if kinds is not None:
            found = after, kinds
            break
      if found:
        yield start, bounds[found[0] - 1][1], found[1]
      place = found[0] if found else place + 1


def singular(noun: str) -> str:
  """Returns what is most likely the singular of a plural."""
  if noun.endswith("ies"):
    return f"{noun[:-3]}y"
  if noun.endswith(("ches", "shes", "sses", "xes", "oes")):
    return noun[:-2]
  return noun[:-1] if noun.endswith("s") and not noun.endswith("ss") else noun


def judged(given: Document) -> Iterator[tuple[str, list[list[Any]], list[list[int]]]]:
  """Yields the sentences of a document with its names, of which relations say what they are."""
  document = given.example
  fine = [dict.fromkeys(()) for _ in document.names]
  for fact in document.facts or ():
    for number, roles in ((fact.head, _FIRST), (fact.tail, _SECOND)):
      fine[number] |= dict.fromkeys(roles.get(fact.label, {}).get(document.names[number].label, ()))
  for start, end in document.sentences:
    spans, unknown = [], []
    for number, name in enumerate(document.names):
      labels = [*fine[number], *_COARSE.get(name.label, ())]
      for a, b in name.mentions:
        if start <= a and b <= end:
          a = a + 4 if document.text[a : a + 4].lower() == "the " else a
          where = [a - start, b - start]
          if labels:
            spans.append([*where, *labels])
          else:
            unknown.append(where)
    if spans:
      yield document.text[start:end], spans, unknown


def main(
  typed: Annotated[Path, Positional, arg(metavar="TYPED")],
  wordnet: Annotated[Path, Positional, arg(metavar="WORDNET")],
  originals: Annotated[Path, Positional, arg(metavar="ORIGINALS")],
  /,
  *,
  output: Path,
  examples: int = 100_000,
  times: int = 4,
) -> None:
  """Widens sentences with typed names by WordNet, and adds the documents of Re-DocRED.

  A battleship is a ship and a vehicle, too; salmon and tuberculosis, which nobody marked, have
  their kinds, and so have names that mean one thing. Of Re-DocRED's names, which people marked, the
  judged relations say what they are: who is cast is an actor.

      python -m data.wiki_types.widen typed WORDNET/dict ORIGINALS --output widened

  Args:
    typed: Folder that `python -m data.wiki_types.make` made.
    wordnet: Folder of WordNet's files data.noun, index.noun and others.
    originals: Folder with redocred, as data/redocred/README.md lists it.
    output: Folder for train.jsonl and dev.jsonl.
    examples: Sentences of the wiki at most.
    times: Copies of each sentence of Re-DocRED.
  """
  widening = Widening(WordNet(wordnet))
  output.mkdir(parents=True, exist_ok=True)
  counts: dict[str, int] = {}
  documents = split_documents(originals / "redocred")
  for split in ("train", "dev"):
    lines = (typed / f"{split}.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines[:examples]]
    made = [widening.widened(x["text"], x["spans"], x.get("unknown", [])) for x in rows]
    of_people = [widening.widened(*x) for one in documents[split] for x in judged(one)]
    counts |= {split: len(made), f"{split}_judged": len(of_people)}
    made += of_people * (times if split == "train" else 1)
    random.Random(0).shuffle(made)
    written = "".join(json.dumps(x, ensure_ascii=False) + "\n" for x in made)
    (output / f"{split}.jsonl").write_text(written, encoding="utf-8")
  print(summary_line({**counts, "output": str(output)}))


if __name__ == "__main__":
  sys.exit(script(main, "python -m data.wiki_types.widen"))
