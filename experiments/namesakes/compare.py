"""Compares the forms of run.sh, in pairs of a seed: python experiments/namesakes/compare.py FOLDER."""

import itertools
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import mean, stdev

FORMS = {
  "aware": "entities, entity-aware attention",
  "original": "entities, original attention",
  "words": "no entities",
  "fresh": "entities, not pretrained",
}


def scores(folder: Path) -> list[float]:
  """Returns the exact match of each seed on the test, in percent."""
  files = sorted(folder.glob("seed-*/result.json"))
  return [100 * json.loads(x.read_text())["scores"]["test"]["exact_match"] for x in files]


def chance(differences: Sequence[float]) -> float:
  """Returns how often differences of random signs have a mean as far from 0, over all signs."""
  size = abs(sum(differences)) - 1e-9
  signs = itertools.product((1, -1), repeat=len(differences))
  sums = [abs(sum(s * x for s, x in zip(sign, differences, strict=True))) for sign in signs]
  return sum(x >= size for x in sums) / len(sums)


def main(folder: Path) -> None:
  """Prints a table of the forms, and of each beside the first."""
  first = scores(folder / next(iter(FORMS)))
  print("| | seeds | exact match | less than the first | p |\n|---|---|---|---|---|")
  for name, about in FORMS.items():
    own = scores(folder / name)
    less = [a - b for a, b in zip(first, own, strict=True)]
    beside = f"{mean(less):.1f} | {chance(less):.3f}" if own is not first and any(less) else "|"
    print(f"| {about} | {len(own)} | {mean(own):.1f} ± {stdev(own):.1f} | {beside} |")


if __name__ == "__main__":
  if len(sys.argv) != 2:
    sys.exit(__doc__)
  main(Path(sys.argv[1]))
