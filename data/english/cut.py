"""Makes data/english/sample from datasets/english: python -m data.english.cut [FOLDER].

Enough to train relations in two minutes, and to show what a model reads in texts that it does not
know.
"""

import json
import sys
from collections.abc import Iterable
from pathlib import Path

from .texts import digest

SAMPLE = Path(__file__).parent / "sample"
RELATIONS = {"train": 150, "dev": 5, "test": 20}  # sentences of each relation
SENTENCES = 120  # with names
SHORTEST, LONGEST, FEWEST, MOST = 70, 220, 2, 6  # characters and names of a sentence


def relations(lines: Iterable[str], count: int) -> list[str]:
  """Returns the first `count` sentences of each relation."""
  found: dict[str, list[str]] = {}
  for line in lines:
    kept = found.setdefault(json.loads(line)["label"], [])
    if len(kept) < count:
      kept.append(line)
  return [line for kept in found.values() for line in kept]


def names(lines: Iterable[str]) -> list[str]:
  """Returns whole sentences with some names, those of the smallest hashes."""
  fitting = {}
  for line in lines:
    text, spans = (json.loads(line)[name] for name in ("text", "spans"))
    if SHORTEST <= len(text) <= LONGEST and FEWEST <= len(spans) <= MOST and text[0].isupper():
      fitting[digest(text)] = line
  return [fitting[key] for key in sorted(fitting)[:SENTENCES]]


def main(folder: Path) -> None:
  """Writes the cuts of the test files and of the relations to train on."""
  cuts = {
    f"relations/{split}.jsonl": relations(_lines(folder / "relations" / f"{split}.jsonl"), count)
    for split, count in RELATIONS.items()
  }
  cuts["ner/test.jsonl"] = names(_lines(folder / "ner" / "test_crossner.jsonl"))
  for name, lines in cuts.items():
    (SAMPLE / name).parent.mkdir(parents=True, exist_ok=True)
    (SAMPLE / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    print(f"{SAMPLE / name}: {len(lines):,}")


def _lines(path: Path) -> list[str]:
  return path.read_text(encoding="utf-8").splitlines()


if __name__ == "__main__":
  main(Path((sys.argv[1:] or ["datasets/english"])[0]))
