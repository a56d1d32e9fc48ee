"""Deals a graph's vectors to other entities.

python experiments/few_rel_dealt.py VECTORS FOLDER SEED

The numbers stay the same, but say nothing of the entity that has them.
"""

import sys
from pathlib import Path

import numpy as np

from luke_jax.graph.vectors import PARTS, Vectors, open_vectors, write_vectors


def main(vectors: Path, folder: Path, seed: int) -> None:
  """Writes the vectors of a folder in another order of the entities."""
  entities, relations = (open_vectors(vectors, part) for part in PARTS)
  order = np.random.default_rng(seed).permutation(len(entities.ids))
  dealt = Vectors(entities.ids, entities.table[order])
  write_vectors(folder, (dealt, relations), {"dealt with seed": seed}, text=False)


if __name__ == "__main__":
  if len(sys.argv) != 4:
    sys.exit(__doc__)
  main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
