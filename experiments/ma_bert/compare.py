"""Accuracies of the forms of run.sh, over the seeds that all forms have.

python experiments/ma_bert/compare.py FOLDER
"""

import json
import sys
from pathlib import Path
from statistics import mean

FORMS = {
  "d": "scores and values of attention (the paper's model)",
  "c": "scores of attention",
  "b": "beside the first word's state",
  "a": "beside each word's state",
  "text": "no attributes",
}


def scores(folder: Path) -> dict[str, dict[str, float]]:
  """Returns the scores on the test by seed."""
  return {
    x.parent.name: json.loads(x.read_text())["scores"]["test"]
    for x in folder.glob("seed-*/result.json")
  }


def main(folder: Path) -> None:
  """Prints a row for each form."""
  found = {name: scores(folder / name) for name in FORMS}
  seeds = sorted(set.intersection(*map(set, found.values())))
  if not seeds:
    sys.exit(f"{folder}: no seed of all forms; expected what run.sh SEED {folder} writes")
  print("| form | attributes change | seeds | accuracy | least | RMSE |\n|---|---|---|---|---|---|")
  for name, about in FORMS.items():
    accuracies = [100 * found[name][seed]["accuracy"] for seed in seeds]
    error = mean(found[name][seed]["rmse"] for seed in seeds)
    figures = f"{len(seeds)} | {mean(accuracies):.1f} | {min(accuracies):.1f} | {error:.3f}"
    print(f"| {name} | {about} | {figures} |")


if __name__ == "__main__":
  if len(sys.argv) != 2:
    sys.exit(__doc__)
  main(Path(sys.argv[1]))
