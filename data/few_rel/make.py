"""Makes a small FewRel and a graph of its entities: python -m data.few_rel.make ORIGINALS [FOLDER].

ORIGINALS has the files of the publications as README.md lists them. FOLDER is datasets/few_rel
unless it is given.
"""

import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path

Triple = tuple[str, str, str]

# Sentences of each relation, from the first and up to before the second, of 700.
SPLITS = {"train": (0, 100), "dev": (100, 120), "test": (550, 700)}
VALID = 1000  # triples that no vector is trained on
CODEX = ("train", "valid", "test")


def main(originals: Path, folder: Path) -> None:
  """Writes FewRel's splits and a graph without their facts, and prints how much they share."""
  relations = json.loads((originals / "fewrel" / "val_wiki.json").read_text(encoding="utf-8"))
  items = [item for of_one in relations.values() for item in of_one]
  asked = {frozenset((item["h"][1], item["t"][1])) for item in items}
  every = sorted({*codex(originals / "codex-s"), *free_base(originals / "FB15K237")})
  kept = [triple for triple in every if frozenset((triple[0], triple[2])) not in asked]
  random.Random(0).shuffle(kept)
  write_graph(folder / "graph", {"valid": kept[:VALID], "train": kept[VALID:]})
  known = {name for head, _, tail in kept[VALID:] for name in (head, tail)}
  for split, (first, last) in SPLITS.items():
    part = {label: of_one[first:last] for label, of_one in relations.items()}
    (folder / f"{split}.json").write_text(json.dumps(part, ensure_ascii=False), encoding="utf-8")
  print(
    json.dumps(
      counts(relations, known) | {"triples": len(kept), "left out": len(every) - len(kept)}
    )
  )


def codex(folder: Path) -> Iterator[Triple]:
  """Yields the triples of CoDEx."""
  for split in CODEX:
    for line in (folder / f"{split}.txt").read_text(encoding="utf-8").splitlines():
      head, relation, tail = line.split("\t")
      yield head, relation, tail


def free_base(folder: Path) -> Iterator[Triple]:
  """Yields the triples of FB15k-237 whose entities have an item of Wikidata."""
  lines = (folder / "mid2wikidata.tsv").read_text(encoding="utf-8").splitlines()
  items = {line.split("\t")[0]: line.split("\t")[1] for line in lines}
  entities, relations = (names(folder / f"{part}2id.txt") for part in ("entity", "relation"))
  for split in ("train", "valid", "test"):
    for line in (folder / f"{split}2id.txt").read_text(encoding="utf-8").splitlines()[1:]:
      head, tail, relation = map(int, line.split())
      if entities[head] in items and entities[tail] in items:
        yield items[entities[head]], relations[relation], items[entities[tail]]


def names(file: Path) -> dict[int, str]:
  """Returns the names by id of one of OpenKE's files."""
  pairs = (line.split() for line in file.read_text(encoding="utf-8").splitlines()[1:])
  return {int(id): name for name, id in pairs}


def write_graph(folder: Path, splits: dict[str, list[Triple]]) -> None:
  """Writes a file of lines for each split."""
  folder.mkdir(parents=True, exist_ok=True)
  for split, triples in splits.items():
    lines = ("\t".join(triple) + "\n" for triple in triples)
    (folder / f"{split}.txt").write_text("".join(lines), encoding="utf-8")


def counts(relations: dict[str, list[dict]], known: set[str]) -> dict[str, int]:
  """Returns how many of FewRel's entities, mentions and sentences the graph knows."""
  pairs = [(item["h"][1], item["t"][1]) for of_one in relations.values() for item in of_one]
  entities = {name for pair in pairs for name in pair}
  ends = [sum(name in known for name in pair) for pair in pairs]
  return {
    "entities": len(entities),
    "entities in the graph": len(entities & known),
    "sentences": len(pairs),
    "with one end in the graph": ends.count(1),
    "with both ends in the graph": ends.count(2),
  }


if __name__ == "__main__":
  if len(sys.argv) not in (2, 3):
    sys.exit(__doc__)
  main(Path(sys.argv[1]), Path((sys.argv[2:] or ["datasets/few_rel"])[0]))
