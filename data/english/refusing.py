"""Makes `english/qa` of an adapter: python -m data.english.refusing ADAPTER TARGET [FOLDER].

The adapter is that of a run of experiments/english/qa_box.py, which answers too little. Its margin
of "no answer", `null_threshold`, is raised as long as it refuses three in four of dev's questions
without an answer. FOLDER is datasets/english unless it is given.
"""

import json
import shutil
import sys
from pathlib import Path

import numpy as np

import luke_jax
from luke_jax.tasks.files import Faults
from luke_jax.tasks.qa.files import read
from luke_jax.tasks.qa.score import null_odds

REFUSED = 3 / 4  # least share of the questions without an answer


def main(adapter: Path, target: Path, folder: Path) -> None:
  """Copies the adapter with another margin and prints it."""
  margin = margin_of(odds_of(adapter, folder / "qa" / "all_dev.json"))
  shutil.copytree(adapter, target)
  config = json.loads((target / "config.json").read_text(encoding="utf-8"))
  config["luke_jax"]["settings"]["null_threshold"] = margin
  (target / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
  print(f"{target}: null_threshold {margin}")


def margin_of(odds: np.ndarray) -> float:
  """Returns the largest margin, of two digits, by which enough of these questions are refused."""
  return float(np.floor(100 * np.quantile(odds, 1 - REFUSED)) / 100)


def odds_of(adapter: Path, path: Path) -> np.ndarray:
  """Returns the scores of "no answer", less the best answers', of questions without an answer."""
  model, rows = luke_jax.load(adapter), read(path, Faults())
  asked = [x for x in rows if not x.answers]
  texts, questions = [x.text for x in asked], [x.question for x in asked]
  return np.array([null_odds(answers) for answers in model.predict(texts, question=questions)])


if __name__ == "__main__":
  if len(sys.argv) not in (3, 4):
    sys.exit(__doc__)
  main(*map(Path, (*sys.argv[1:3], *(sys.argv[3:] or ["datasets/english"]))))
