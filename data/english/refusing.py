"""Makes `english/qa` of an adapter: python -m data.english.refusing ADAPTER TARGET [FOLDER].

The adapter is that of a run of experiments/english.py:qa-harder. Its margin of "no answer",
`null_threshold`, is chosen on dev: machine-made questions, those that were written by hand
(data.english.asked) and hard ones (data.hard_questions) count alike, and of each the F1 of
questions with an answer and the share of the others that is refused. Its scores are fitted to the
same questions; if no score is told with certainty from which nine in ten answers are right, it is
sure from the score .9 on. FOLDER is datasets/english unless it is given.
"""

import dataclasses
import json
import math
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np

import luke_jax
from luke_jax import files
from luke_jax.formats.files import Faults
from luke_jax.inference.predicting import predictions
from luke_jax.inference.settings import ENTRY, KEY, SURE, task_of
from luke_jax.runs.models import SURE_SHARE, measured
from luke_jax.tasks.answers import token_f1
from luke_jax.tasks.calibration import Answered
from luke_jax.tasks.predictions import Answer
from luke_jax.tasks.qa.files import read
from luke_jax.tasks.qa.score import evaluate, null_odds

DEVS = ("all_dev.json", "asked_dev.json", "hard_dev.json")
MARGINS = np.arange(-10, 10, 0.5)


def main(adapter: Path, target: Path, folder: Path) -> None:
  """Copies the adapter with another margin and another meaning of scores, and prints both."""
  shutil.copytree(adapter, target)
  config = json.loads((target / "config.json").read_text(encoding="utf-8"))
  ours = config[KEY]
  ours.pop(ENTRY, None)
  devs = [predicted(target, folder / "qa" / name) for name in DEVS]
  margin = margin_of(devs)
  ours["settings"]["null_threshold"] = margin
  answers: list[Answered] = []
  for examples, found in devs:
    answers += evaluate(examples, [with_margin(x, margin) for x in found]).answers
  calibration, sure = measured(answers)
  ours |= {ENTRY: list(calibration), SURE: sure or SURE_SHARE}
  write(target, config)
  print(
    f"{target}: null_threshold {margin}, calibration {list(calibration)}, sure {sure or SURE_SHARE}"
  )


def write(target: Path, config: dict[str, Any]) -> None:
  """Writes the config of an adapter."""
  (target / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")


def predicted(adapter: Path, path: Path) -> tuple[list, list]:
  """Returns the questions of a file and their answers without a margin, scores as computed."""
  model = luke_jax.load(adapter)
  model = dataclasses.replace(
    model, rest={**model.rest, KEY: {k: x for k, x in model.rest[KEY].items() if k != ENTRY}}
  )
  task = dataclasses.replace(task_of(model), null_threshold=0.0)
  pairs = list(predictions(model, task, read(files.Path(path), Faults())))
  return [x for x, _ in pairs], [x for _, x in pairs]


def with_margin(answers: list[Answer], margin: float) -> list[Answer]:
  """Returns answers, to .004, as they are where "no answer" has to be so much surer."""
  weights = [x.score * (1 if x.text else math.exp(-margin)) for x in answers]
  scored = [x._replace(score=y / sum(weights)) for x, y in zip(answers, weights, strict=True)]
  return sorted(scored, key=lambda x: -x.score)


def margin_of(devs: list[tuple[list, list]]) -> float:
  """Returns the margin with the best mean over dev parts, each half F1 and half refusals."""

  def good(margin: float, examples: list, answers: list) -> float:
    refused = np.array(list(map(null_odds, answers))) > margin
    best = [next((x.text for x in said if x.text), "") for said in answers]
    has = np.array([bool(x.answers) for x in examples])
    f1 = [
      token_f1(text, [x.text[start:end] for start, end in x.answers or ()])
      for x, text in zip(examples, best, strict=True)
    ]
    return (np.array(f1) * ~refused)[has].mean() + refused[~has].mean()

  totals = [sum(good(margin, *dev) for dev in devs) for margin in MARGINS]
  return float(MARGINS[int(np.argmax(totals))])


if __name__ == "__main__":
  if len(sys.argv) not in (3, 4):
    sys.exit(__doc__)
  main(*map(Path, (*sys.argv[1:3], *(sys.argv[3:] or ["datasets/english"]))))
