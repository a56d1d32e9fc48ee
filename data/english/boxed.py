"""Makes `english/ner` of an adapter: python -m data.english.boxed ADAPTER TARGET [FOLDER].

The adapter is that of a run of experiments/english.py:ner-box. It hides dates and numbers, its
scores are fitted to dev, and its card has the scores of the test parts: those of CrossNER and
WNUT-17 without what is hidden, and that of Re-DocRED with all. FOLDER is datasets/english/ner.
"""

import dataclasses
import sys
from pathlib import Path

import luke_jax
from data import box
from luke_jax.inference.settings import ENTRY, KEY, SURE
from luke_jax.runs.models import measured

HIDDEN = ("NUM", "TIME")
TESTS = {"CrossNER": "test_crossner", "WNUT-17": "test_wnut17", "Re-DocRED": "test_redocred"}
DEVS = ("dev_timed", "dev_redocred")
LICENCE = "CrossNER, MIT; WNUT-17, CC BY 4.0; Universal NER of English EWT, CC BY-SA 4.0; "
LICENCE += "Re-DocRED, MIT; texts of Wikipedia, CC BY-SA"


def main(adapter: str, target: Path, folder: Path) -> None:
  """Writes the adapter with what it hides, the meaning of its scores, and scores of tests."""
  model = luke_jax.load(adapter)
  ours = {name: x for name, x in model.rest[KEY].items() if name not in (ENTRY, SURE)}
  ours["settings"] = {**ours["settings"], "hidden": list(HIDDEN)}
  model = dataclasses.replace(model, rest={**model.rest, KEY: ours})
  devs = [box.scored(model, folder / f"{x}.jsonl", hidden=HIDDEN) for x in DEVS]
  ours[ENTRY] = list(measured([x for dev in devs for x in dev.answers])[0])
  parts = "{0}_timed.jsonl, {0}_redocred.jsonl"
  data = [{**x, "file": parts.format(x["split"])} for x in ours["run"]["data"]]
  record = {**ours["run"], "data": data, "scores": {"dev": ours["run"]["scores"]["dev"]}}
  for split, name in TESTS.items():
    path, hidden = folder / f"{name}.jsonl", () if split == "Re-DocRED" else HIDDEN
    record = box.with_scores(record, split, path, box.scored(model, path, hidden=hidden))
  box.write(model, record, LICENCE, target)


if __name__ == "__main__":
  if len(sys.argv) not in (3, 4):
    sys.exit((__doc__ or "").partition("\n")[0])
  main(sys.argv[1], Path(sys.argv[2]), Path((sys.argv[3:] or ["datasets/english/ner"])[0]))
