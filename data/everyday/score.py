"""Scores a model on everyday kinds: python -m data.everyday.score MODEL.

Prints precision and recall by the model's own threshold over the six files together, and the recall
where three of four names are right.
"""

import dataclasses
import json
import sys
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from luke_jax.cli import script
from luke_jax.formats.files import Faults
from luke_jax.inference.predicting import asked, predictions
from luke_jax.inference.settings import task_of
from luke_jax.model import load
from luke_jax.tasks.running import read_examples

FOLDER = Path(__file__).parent
LEAST, GOAL = 0.02, 0.75


def found(model_name: str) -> tuple[list[tuple[float, bool]], int, float]:
  """Returns all names above a low score and whether each is right, the gold's number, threshold."""
  model, answers, gold, own = load(model_name), [], 0, 0.0
  for file in sorted(FOLDER.glob("*.jsonl")):
    lines = file.read_text(encoding="utf-8").splitlines()
    kinds = sorted({span[2] for line in lines for span in json.loads(line)["spans"]})
    task = task_of(model, **asked(model, kinds))
    own = task.threshold
    task = dataclasses.replace(task, threshold=LEAST)
    for example, spans in predictions(model, task, read_examples(task, str(file), Faults())):
      right = {(x.start, x.end, x.label) for x in example.spans or ()}
      gold += len(right)
      answers += [(x.score, (x.start, x.end, x.label) in right) for x in spans]
  return sorted(answers, reverse=True), gold, own


def main(model: Annotated[str, Positional, arg(metavar="MODEL")], /) -> None:
  """Prints the figures as JSON."""
  answers, gold, own = found(model)
  rights, curve = 0, []
  for number, (score, right) in enumerate(answers, start=1):
    rights += right
    curve.append((score, rights / number, rights / gold))
  given = [x for x in curve if x[0] >= own] or [(1.0, 0.0, 0.0)]
  sure = max((x for x in curve if x[1] >= GOAL), key=lambda x: x[2], default=(1.0, 0.0, 0.0))
  best = max(curve, key=lambda x: 2 * x[1] * x[2] / max(1e-9, x[1] + x[2]))
  names = ("score", "precision", "recall")
  figures = {"names": gold, "given": dict(zip(names, (own, *given[-1][1:]), strict=True))}
  figures |= {"at_goal": dict(zip(names, sure, strict=True))}
  figures |= {"best_f1": dict(zip(names, best, strict=True))}
  print(json.dumps(figures, indent=1))


if __name__ == "__main__":
  sys.exit(script(main, "python -m data.everyday.score"))
