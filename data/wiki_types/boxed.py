"""Makes `english/labels`: python -m data.wiki_types.boxed ADAPTER TARGET ORIGINALS.

The adapter is that of a training of labels. Its scores are fitted to the dev parts of CrossNER and
WNUT-17, of which nothing is trained on, and its card has the scores of their test parts.
"""

import dataclasses
import shutil
import sys
from pathlib import Path
from typing import Any

import luke_jax
from data.english.zero_shot import asking, evaluation_of, meaning, sets
from luke_jax import files
from luke_jax.convert.adapters import save_adapter
from luke_jax.convert.card import with_record
from luke_jax.inference.settings import KEY
from luke_jax.tasks.calibration import calibration_error

LICENCE = "pages of the English Wikipedia, CC BY-SA; labels and descriptions of CoDEx's types, MIT,"
LICENCE += " from Wikidata, CC0; WordNet 3.1, WordNet's licence; Re-DocRED, MIT"
NOTICE = "No text of the data is in the files: [the notice](../NOTICE.md) of the box."


def main(adapter: str, target: Path, originals: Path) -> None:
  """Writes the adapter with the meaning of its scores, and prints the scores of tests."""
  model = luke_jax.load(adapter)
  ours = dict(model.rest[KEY])
  ours["settings"] = {**ours["settings"], **meaning(model, originals, "dev")}
  model = dataclasses.replace(model, rest={**model.rest, KEY: ours})
  record: dict[str, Any] = {**ours["run"], "data_licence": LICENCE}
  record["start"] = {**record["start"], "language": "en"}
  for name, path, labels in sets(originals, "test"):
    split = "WNUT-17" if name == "wnut17" else f"CrossNER {name}"
    found = evaluation_of(model, asking(model, labels), path)
    of_split = {x: round(y, 4) for x, y in found.scores.items()}
    record["scores"] = {**record["scores"], split: of_split}
    known = {"split": split, "file": path.name, "examples": len(found.wanted)}
    record["data"] = [*record["data"], {**known, "sha256": files.sha256(files.Path(path))}]
    print(split, of_split, f"{calibration_error(found.answers):.3f}", flush=True)
  shutil.rmtree(target, ignore_errors=True)
  save_adapter(with_record(model, record), target)
  card = target / "README.md"
  told = card.read_text(encoding="utf-8").replace(f"{LICENCE}.", f"{LICENCE}. {NOTICE}")
  card.write_text(told, encoding="utf-8")


if __name__ == "__main__":
  if len(sys.argv) != 4:
    sys.exit((__doc__ or "").partition("\n")[0])
  main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
