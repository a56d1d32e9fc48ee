"""Compares the forms of run.sh, in pairs of a seed.

python experiments/namesakes/compare.py FOLDER
"""

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


def scores(folder: Path) -> dict[str, float]:
  """Returns the exact match on the test, in percent, by seed."""
  return {
    x.parent.name: 100 * json.loads(x.read_text())["scores"]["test"]["exact_match"]
    for x in folder.glob("seed-*/result.json")
  }


def chance(differences: Sequence[float]) -> float:
  """Returns how often differences of random signs have a mean as far from 0, over all signs."""
  size = abs(sum(differences)) - 1e-9
  signs = itertools.product((1, -1), repeat=len(differences))
  sums = [abs(sum(s * x for s, x in zip(sign, differences, strict=True))) for sign in signs]
  return sum(x >= size for x in sums) / len(sums)


def main(folder: Path) -> None:
  """Prints a table of the forms, and of each beside the first."""
  found = {name: scores(folder / name) for name in FORMS}
  seeds = sorted(set.intersection(*map(set, found.values())))  # that all forms have
  first = [found["aware"][seed] for seed in seeds]
  print("| | seeds | exact match | below the first | p |\n|---|---|---|---|---|")
  for name, about in FORMS.items():
    own = [found[name][seed] for seed in seeds]
    less = [a - b for a, b in zip(first, own, strict=True)]
    beside = "|" if name == "aware" else f"{mean(less):.1f} | {chance(less):.3f}"
    print(f"| {about} | {len(own)} | {mean(own):.1f} ± {stdev(own):.1f} | {beside} |")


if __name__ == "__main__":
  if len(sys.argv) != 2:
    sys.exit(__doc__)
  main(Path(sys.argv[1]))
