"""Makes `english/ner` of an adapter: python -m data.english.boxed ADAPTER TARGET [FOLDER].

The adapter is that of a run of experiments/english.py:ner-box. It hides dates and numbers, its
scores are fitted to dev, and its card has the scores of the test parts: those of CrossNER and
WNUT-17 without what is hidden, and that of Re-DocRED with all. FOLDER is datasets/english/ner.
"""

import dataclasses
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import luke_jax
from data import box
from luke_jax import files
from luke_jax.formats.files import Faults
from luke_jax.inference.predicting import predictions
from luke_jax.inference.settings import ENTRY, KEY, SURE, task_of
from luke_jax.model import Model
from luke_jax.runs.models import measured
from luke_jax.tasks.calibration import calibration_error
from luke_jax.tasks.evaluation import Evaluation

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
  answers = [y for x in DEVS for y in scored(model, folder / f"{x}.jsonl").answers]
  ours[ENTRY] = list(measured(answers)[0])
  record = {**ours["run"]}
  record["scores"] = {"dev": record["scores"]["dev"]}
  parts = "{0}_timed.jsonl, {0}_redocred.jsonl"
  record["data"] = [{**x, "file": parts.format(x["split"])} for x in record["data"]]
  for split, name in TESTS.items():
    path = folder / f"{name}.jsonl"
    tested = scored(model, path, () if split == "Re-DocRED" else HIDDEN)
    record["scores"][split] = {x: round(y, 6) for x, y in tested.scores.items()}
    known = {"split": split, "file": path.name, "examples": len(tested.wanted)}
    record["data"] = [*record["data"], {**known, "sha256": files.sha256(files.Path(path))}]
    print(split, record["scores"][split], f"{calibration_error(tested.answers):.3f}")
  box.write(model, record, LICENCE, target)


def scored(model: Model, path: Path, hidden: Sequence[str] = HIDDEN) -> Evaluation:
  """Returns the scores of a model on a file."""
  task: Any = task_of(model, hidden=tuple(hidden), skip_bad=True)
  faults = Faults(skip=True)
  found = predictions(model, task, task.read(files.Path(path), faults), faults)
  return task.evaluate(*map(list, zip(*found, strict=True)))


if __name__ == "__main__":
  if len(sys.argv) not in (3, 4):
    sys.exit((__doc__ or "").partition("\n")[0])
  main(sys.argv[1], Path(sys.argv[2]), Path((sys.argv[3:] or ["datasets/english/ner"])[0]))
