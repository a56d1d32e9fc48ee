"""Compares TENER and the plain transformer by the scores of run.sh.

python experiments/tener/compare.py FOLDER
"""

import json
import sys
from pathlib import Path
from statistics import mean, stdev

ENCODERS = {"adatrans": "TENER", "transformer": "plain transformer"}


def scores(folder: Path) -> dict[str, float]:
  """Returns F1 on the test, in percent, by seed."""
  return {path.stem: 100 * json.loads(path.read_text())["f1"] for path in folder.glob("*.json")}


def shown(values: list[float]) -> str:
  """Returns the mean, and the deviation of several values."""
  return f"{mean(values):.1f}" + (f" ± {stdev(values):.1f}" if len(values) > 1 else "")


def main(folder: Path) -> None:
  """Prints a row for each data set: both scores, and the mean difference in pairs of a seed."""
  print(f"| data | seeds | {' | '.join(ENCODERS.values())} | difference |\n|---|---|---|---|---|")
  for path in sorted((folder / "scores").glob("*-adatrans")):
    name = path.name.removesuffix("-adatrans")
    found = [scores(folder / "scores" / f"{name}-{encoder}") for encoder in ENCODERS]
    seeds = sorted(set.intersection(*map(set, found)))
    if not seeds:
      continue
    columns = [[of_one[seed] for seed in seeds] for of_one in found]
    less = [a - b for a, b in zip(*columns, strict=True)]
    row = " | ".join(map(shown, (*columns, less)))
    print(f"| {name} | {len(seeds)} | {row} |")


if __name__ == "__main__":
  if len(sys.argv) != 2:
    sys.exit(__doc__)
  main(Path(sys.argv[1]))
