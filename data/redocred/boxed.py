"""Makes `english/facts`: python -m data.redocred.boxed ADAPTER TARGET [NAMES] [FOLDER].

The adapter is that of a run of facts, calibrated on dev (README.md). It is sure from the score on
from which 92 of 100 facts are right on dev, between names that NAMES, english/ner unless it is
given, finds and that people marked too: what it finds between others, nobody judged. FOLDER is
datasets/redocred unless it is given.
"""

import dataclasses
import sys
from pathlib import Path

import numpy as np

import luke_jax
from data import box
from luke_jax import files
from luke_jax.formats.files import Faults
from luke_jax.inference.predicting import predictions
from luke_jax.inference.settings import KEY, SURE, task_of
from luke_jax.inference.triples import Extractor
from luke_jax.tasks.facts.denial import ENGLISH
from luke_jax.tasks.facts.files import read

from .score import LEAST, matched

LICENCE = "Re-DocRED, MIT; texts of Wikipedia, CC BY-SA"
SHARE, FEWEST = 0.92, 100  # of the facts that are right, and the facts that tell


def main(adapter: str, target: Path, names: str, folder: Path) -> None:
  """Writes the adapter with the score from which it is sure, and prints that."""
  model = luke_jax.load(adapter)
  extractor = Extractor(luke_jax.load(names), model, threshold=LEAST)
  dev, train = (read(files.Path(folder / f"{x}.jsonl"), Faults()) for x in ("dev", "train"))
  found = extractor.triples([x.text for x in dev])
  pairs = zip(dev, found, strict=True)
  answers = [y.answer for x, told in pairs for y in matched(x, told, of_marked=True)]
  ranked = sorted(answers, key=lambda x: -x.score)
  precision = np.cumsum([x.right for x in ranked]) / np.arange(1, len(ranked) + 1)
  enough = np.flatnonzero(precision >= SHARE)
  if not len(enough) or enough[-1] < FEWEST:
    sys.exit(f"{len(answers)} facts do not tell from which score {SHARE:.0%} are right")
  count = int(enough[-1])
  ours = dict(model.rest[KEY])
  by_data = task_of(model).tuned(None, dev, train)
  ours["settings"] = {**ours["settings"], **by_data, "language": ENGLISH}
  ours[SURE] = round(ranked[count].score, 4)
  changed = dataclasses.replace(model, rest={**model.rest, KEY: ours})
  task = task_of(changed)
  of_dev = task.evaluate(dev, [x for _, x in predictions(changed, task, dev)]).scores
  record = {**ours["run"], "scores": {"dev": dict(of_dev)}}
  box.write(changed, record, LICENCE, target)
  right = f"{count + 1} facts of dev, {precision[count]:.1%} right"
  print(f"{target}: sure from {ours[SURE]}: {right}")


if __name__ == "__main__":
  given = sys.argv[1:]
  chosen = [*given, *["english/ner", "datasets/redocred"][max(0, len(given) - 2) :]]
  main(chosen[0], Path(chosen[1]), chosen[2], Path(chosen[3]))
