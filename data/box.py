"""Writes an adapter of a box with its card: python -m data.box ADAPTER TARGET LICENCE [SPLIT=FILE].

LICENCE is that of the data; the card has scores of each file that is given, and ends in the notice
of all adapters.
"""

import json
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import luke_jax
from luke_jax import files
from luke_jax.convert.adapters import save_adapter
from luke_jax.convert.card import with_record
from luke_jax.convert.published import ENGLISH, WEIGHTS
from luke_jax.formats.files import Faults
from luke_jax.inference.predicting import predictions
from luke_jax.inference.settings import KEY, task_of
from luke_jax.model import Model
from luke_jax.tasks.calibration import calibration_error
from luke_jax.tasks.evaluation import Evaluation
from luke_jax.tasks.running import checked, read_examples

NOTICE = "No text of the data is in the files: [the notice]({}NOTICE.md) of the box."


def write(model: Model, record: Mapping[str, Any], licence: str, target: Path) -> None:
  """Writes a model's adapter in the place of what was there; the licence is that of its data."""
  shutil.rmtree(target, ignore_errors=True)
  save_adapter(with_record(model, {**record, "data_licence": licence}), target)
  config = json.loads((target / "config.json").read_text(encoding="utf-8"))
  backbone = config["luke_jax"]["adapter"]["backbone"]["sha256"]
  notice = NOTICE.format("../" if backbone == ENGLISH.files[WEIGHTS] else "../../")
  card = target / "README.md"
  told = card.read_text(encoding="utf-8").replace(f"{licence}.", f"{licence}. {notice}")
  card.write_text(told, encoding="utf-8")


def scored(model: Model, path: Path, **settings: Any) -> Evaluation:
  """Returns the scores of a model on a file."""
  task: Any = task_of(model, skip_bad=True, **settings)
  faults = Faults(skip=True)
  examples = checked(task, read_examples(task, str(path), faults), faults)
  pairs = predictions(model, task, examples, faults)
  return task.evaluate(*map(list, zip(*pairs, strict=True)))


def with_scores(
  record: Mapping[str, Any], split: str, path: Path, evaluation: Evaluation
) -> dict[str, Any]:
  """Returns the record of a run with the scores of a file, and prints these."""
  scores = {name: round(x, 6) for name, x in evaluation.scores.items()}
  print(split, scores, f"calibration error {calibration_error(evaluation.answers):.3f}", flush=True)
  known = {"split": split, "file": path.name, "examples": len(evaluation.wanted)}
  data = [*record["data"], {**known, "sha256": files.sha256(files.Path(path))}]
  return {**record, "scores": {**record["scores"], split: scores}, "data": data}


def main(adapter: str, target: Path, licence: str, tests: Sequence[str]) -> None:
  """Writes the adapter with the scores of files."""
  model = luke_jax.load(adapter)
  record = {**model.rest[KEY]["run"]}
  for split, _, file in (test.partition("=") for test in tests):
    record = with_scores(record, split, Path(file), scored(model, Path(file)))
  write(model, record, licence, target)


if __name__ == "__main__":
  if len(sys.argv) < 4:
    sys.exit((__doc__ or "").partition("\n")[0])
  main(sys.argv[1], Path(sys.argv[2]), sys.argv[3], sys.argv[4:])
