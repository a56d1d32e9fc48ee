"""Makes `english/labels`: python -m data.wiki_types.boxed ADAPTER TARGET ORIGINALS.

The adapter is that of a training of labels. Its scores are fitted to the dev parts of CrossNER and
WNUT-17, of which nothing is trained on, and its card has the scores of their test parts.
"""

import dataclasses
import sys
from pathlib import Path
from typing import Any

import luke_jax
from data import box
from data.english.zero_shot import asking, evaluation_of, meaning, sets
from luke_jax.inference.settings import KEY

LICENCE = "pages of the English Wikipedia, CC BY-SA; labels and descriptions of CoDEx's types, MIT,"
LICENCE += " from Wikidata, CC0; WordNet 3.1, WordNet's licence; Re-DocRED, MIT"


def main(adapter: str, target: Path, originals: Path) -> None:
  """Writes the adapter with the meaning of its scores, and prints the scores of tests."""
  model = luke_jax.load(adapter)
  ours = dict(model.rest[KEY])
  ours["settings"] = {**ours["settings"], **meaning(model, originals, "dev")}
  model = dataclasses.replace(model, rest={**model.rest, KEY: ours})
  record: dict[str, Any] = {**ours["run"]}
  record["start"] = {**record["start"], "language": "en"}
  for name, path, labels in sets(originals, "test"):
    split = "WNUT-17" if name == "wnut17" else f"CrossNER {name}"
    found = evaluation_of(model, asking(model, labels), path)
    record = box.with_scores(record, split, path, found)
  box.write(model, record, LICENCE, target)


if __name__ == "__main__":
  if len(sys.argv) != 4:
    sys.exit((__doc__ or "").partition("\n")[0])
  main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
