"""Titles of the candidates of the names in files, which a pretraining for them has as entities.

    python experiments/linkers/candidates.py titles.txt ganea/aida_*.jsonl ganea/wned-*.jsonl

Of each name the likeliest thirty, in the form that `luke-jax wiki build --allowed` reads.
"""

import argparse

from luke_jax.files import Path
from luke_jax.formats.files import Faults
from luke_jax.tasks.linking.files import read

MOST = 30


def main() -> None:
  """Writes the titles, one a line."""
  parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
  parser.add_argument("output", type=Path)
  parser.add_argument("files", type=Path, nargs="+")
  options = parser.parse_args()
  titles: set[str] = set()
  for file in options.files:
    for example in read(file, Faults()):
      for mention in example.mentions or ():
        likeliest = sorted(mention.candidates or (), key=lambda x: -x[1])
        titles.update(title for title, _ in likeliest[:MOST])
  options.output.write_text("".join(f"{title}\n" for title in sorted(titles)), encoding="utf-8")
  print(f"{len(titles)} titles")


if __name__ == "__main__":
  main()
