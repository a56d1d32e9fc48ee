"""Makes the sample graph: cells of a grid, each with its neighbours to the four sides.

    python data/sample_graph/make.py

For a sixth of the pairs of neighbours one direction is left out of train.txt: half of these triples
are valid.txt, the others test.txt. Vectors of length and width find them, since east is the
opposite of west.
"""

import random
from pathlib import Path

SIDE = 10
OPPOSITE = {"east": "west", "north": "south"}


def main() -> None:
  """Writes train.txt, valid.txt and test.txt beside this file."""
  rng = random.Random(0)
  splits: dict[str, list[str]] = {"train": [], "valid": [], "test": []}
  for x in range(SIDE):
    for y in range(SIDE):
      for (dx, dy), relation in (((1, 0), "east"), ((0, 1), "north")):
        if x + dx == SIDE or y + dy == SIDE:
          continue
        cell, next_cell = f"Q{x}{y}", f"Q{x + dx}{y + dy}"
        pair = [f"{cell}\t{relation}\t{next_cell}", f"{next_cell}\t{OPPOSITE[relation]}\t{cell}"]
        rng.shuffle(pair)
        splits["train"].append(pair[0])
        splits[rng.choice(["valid", "test"]) if rng.random() < 1 / 6 else "train"].append(pair[1])
  for split, triples in splits.items():
    path = Path(__file__).parent / f"{split}.txt"
    path.write_text("\n".join(sorted(triples)) + "\n", encoding="utf-8")


if __name__ == "__main__":
  main()
