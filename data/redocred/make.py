"""Makes files of facts from Re-DocRED: python -m data.redocred.make ORIGINALS [FOLDER].

ORIGINALS has what README.md lists. FOLDER is datasets/redocred unless it is given.
"""

import dataclasses
import gzip
import hashlib
import itertools
import json
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from luke_jax.tasks.facts.files import FactsExample, Holds, NameOfText, parse, to_json
from luke_jax.text.sentences import split_sentences

from . import phrases
from .denied import beside, denied

DEV = 60  # documents of the published dev, by the hash of their titles
SOME, SOME_SEED = {"train_phrases": 0.45, "train_phrases_denied": 0.6}, 5  # shares of them
# What `english/facts` went on with: each document twice.
MIXED = ("train", "train", "train_sentences", "train_denied", "train_some_phrases")
SHARE = 0.6  # of the sentences with facts that stand alone, as they are and denied
WITHIN = 3  # sentences of a document that are denied at most
DRAWS = 0  # of the random choices


def main(originals: Path, folder: Path) -> None:
  """Writes documents, sentences and denied sentences, and prints how many there are."""
  source = originals / "redocred"
  names = relation_names(source / "relations.tsv")
  judged = split_documents(source)
  parts = {split: [x.example for x in of_split] for split, of_split in judged.items()}
  drawn = random.Random(DRAWS)
  for split in ("train", "dev"):
    of_split = judged[split]
    every = [x for d in of_split for x in sentences(d)]
    alone = [x for x in every if drawn.random() < (SHARE if x.facts else SHARE / 4)]
    parts[f"{split}_sentences"] = [y for x in alone for y in (x, *beside(x, drawn))]
    told = [x for s in every for x in denied(s, drawn)]
    parts[f"{split}_denied"] = [x for x in told if drawn.random() < SHARE]
    within = (denied_within(x, drawn) for x in of_split)
    parts[f"{split}_denied"] += [x for x in within if x is not None]
  parts |= with_phrases(parts, names, drawn)
  some = random.Random(SOME_SEED)
  drawn_ones = (some.sample(parts[x], int(share * len(parts[x]))) for x, share in SOME.items())
  parts["train_some_phrases"] = list(itertools.chain.from_iterable(drawn_ones))
  mixed = itertools.chain.from_iterable(parts[x] for x in MIXED)
  parts["train_mixed"] = [dataclasses.replace(x, id=str(i)) for i, x in enumerate(mixed)]
  folder.mkdir(parents=True, exist_ok=True)
  for name, examples in parts.items():
    lines = (json.dumps(to_json(x), ensure_ascii=False) + "\n" for x in examples)
    (folder / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")
  print(json.dumps({name: len(examples) for name, examples in parts.items()}))


def split_documents(source: Path) -> dict[str, list["Document"]]:
  """Returns the documents of dev, those to train on and those of test."""
  names = relation_names(source / "relations.tsv")
  published = documents(source / "dev.json.gz", names)
  order = sorted(published, key=lambda x: hashlib.sha256(x.example.id.encode()).digest())
  test = list(documents(source / "test_first250.json.gz", names))
  return {"dev": order[:DEV], "train": order[DEV:], "test": test}


def relation_names(path: Path) -> dict[str, str]:
  """Returns the English names of Wikidata's properties."""
  rows = (line.split("\t") for line in path.read_text(encoding="utf-8").splitlines())
  return {row[0]: row[1] for row in rows}


class Document(NamedTuple):
  """A document, and the numbers of the sentences that are evidence of each of its facts."""

  example: FactsExample
  evidence: Mapping[Holds, Sequence[int]]


def documents(path: Path, names: Mapping[str, str]) -> Iterator[Document]:
  """Yields the documents of a file of Re-DocRED, whose relations have their names."""
  with gzip.open(path, "rt", encoding="utf-8") as file:
    published: list[dict[str, Any]] = json.load(file)
  for number, value in enumerate(published):
    labels = [{**x, "r": names[x["r"]]} for x in value["labels"]]
    plain = {"sents": value["sents"], "vertexSet": value["vertexSet"], "labels": labels}
    example = parse(plain, f"{number} {value['title']}", f"{path}: {number}")
    evidence = {Holds(x["h"], x["t"], x["r"]): x.get("evidence", []) for x in labels}
    yield Document(example, evidence)


def with_phrases(
  parts: Mapping[str, Sequence[FactsExample]], names: Mapping[str, str], drawn: random.Random
) -> dict[str, list[FactsExample]]:
  """Returns phrases to train on and for dev, filled with names of the same part."""
  others = phrases.beside(parts["train"])
  every = phrases.read_phrases(list(names.values()))
  made = {}
  for split in ("train", "dev"):
    chosen = [x for x in every if x.is_dev == (split == "dev")] * phrases.TIMES
    of_type = phrases.names_by_type(parts[split])
    texts = list(phrases.filled(chosen, of_type, others, drawn))
    alone = [x for x in texts if len(split_sentences(x.text, "en")) == 1]
    made[f"{split}_phrases"] = texts
    made[f"{split}_phrases_denied"] = [y for x in alone for y in denied(x, drawn)]
  return made


def sentences(given: Document) -> Iterator[FactsExample]:
  """Yields the sentences of a document that name two things or more.

  Facts hold that the sentence alone is evidence of; others of the document may hold or not.
  """
  document, evidence = given
  for number, (start, end) in enumerate(document.sentences):
    inside = {
      name: tuple((a - start, b - start) for a, b in x.mentions if start <= a and b <= end)
      for name, x in enumerate(document.names)
    }
    kept = [name for name, mentions in inside.items() if mentions]
    if len(kept) < 2:
      continue
    places = {name: place for place, name in enumerate(kept)}
    facts, unknown = [], []
    for fact in document.facts or ():
      if fact.head in places and fact.tail in places:
        moved = Holds(places[fact.head], places[fact.tail], fact.label)
        (facts if evidence[fact] == [number] else unknown).append(moved)
    yield FactsExample(
      f"{document.id} {number}",
      document.place,
      document.text[start:end],
      tuple(NameOfText(inside[name], document.names[name].label) for name in kept),
      tuple(dict.fromkeys(facts)),
      tuple(dict.fromkeys(unknown)),
      ((0, end - start),),
    )


def denied_within(given: Document, drawn: random.Random) -> FactsExample | None:
  """Returns a document in which some sentences are denied; None if there is none to deny."""
  document, evidence = given
  changed, done = document, 0
  gone: set[Holds] = set()
  open_facts: set[Holds] = set()
  for number in drawn.sample(range(len(document.sentences)), len(document.sentences)):
    one = next((x for x in sentences(given) if x.id == f"{document.id} {number}"), None)
    ways = [] if one is None else list(denied(one, drawn))
    if done == WITHIN or one is None or not ways:
      continue
    way, done = drawn.choice(ways), done + 1
    start, end = document.sentences[number]
    kept = [
      name
      for name, x in enumerate(document.names)
      if any(start <= a and b <= end for a, b in x.mentions)
    ]
    still = {Holds(kept[x.head], kept[x.tail], x.label) for x in way.facts or ()}
    may = {Holds(kept[x.head], kept[x.tail], x.label) for x in way.unknown}
    told = {Holds(kept[x.head], kept[x.tail], x.label) for x in one.facts or ()}
    gone |= told - still - may
    open_facts |= may | {x for x, of in evidence.items() if number in of and x not in told}
    changed = spliced(changed, number, way)
  if not done:
    return None
  facts = tuple(x for x in document.facts or () if x not in gone | open_facts)
  unknown = tuple(sorted(open_facts - gone))
  return dataclasses.replace(changed, id=f"{document.id} within", facts=facts, unknown=unknown)


def spliced(document: FactsExample, number: int, sentence: FactsExample) -> FactsExample:
  """Returns a document with another form of a sentence, which has the same names in order."""
  start, end = document.sentences[number]
  by = len(sentence.text) - (end - start)
  new = iter(sentence.names)
  names = []
  for name in document.names:
    inside = any(start <= a and b <= end for a, b in name.mentions)
    own = [(a + start, b + start) for a, b in next(new).mentions] if inside else []
    before = [x for x in name.mentions if x[1] <= start]
    after = [(a + by, b + by) for a, b in name.mentions if a >= end]
    names.append(name._replace(mentions=tuple(before + own + after)))
  text = document.text[:start] + sentence.text + document.text[end:]
  edges = [
    (a, b) if b <= start else (a + by, b + by) if a >= end else (start, end + by)
    for a, b in document.sentences
  ]
  return dataclasses.replace(document, text=text, names=tuple(names), sentences=tuple(edges))


if __name__ == "__main__":
  if len(sys.argv) not in (2, 3):
    sys.exit((__doc__ or "").partition("\n")[0])
  main(Path(sys.argv[1]), Path((sys.argv[2:] or ["datasets/redocred"])[0]))
