"""The plain command on a few examples a label, with a fitted head and without, or SetFit beside it.

    luke-jax get english
    python benchmarks/own_data/few.py classification POOL TEST --examples 8 --seeds 0 1 2
    python benchmarks/own_data/few.py classification POOL TEST --set task.fit_head=false

POOL and TEST are files of examples in JSON lines, such as files.py makes. Each seed draws so many
examples of every label from POOL; printed are the test score and the calibration error. `--setfit
FOLDER` trains SetFit instead (`pip install setfit`, which no extra of this project has); FOLDER is
a model of sentence-transformers.
"""

import argparse
import json
import math
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

Example = dict[str, Any]


def main() -> None:
  """Prints a line of JSON for each seed, and the mean of their scores with its deviation."""
  parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
  parser.add_argument("task", choices=("classification", "typing", "relations"))
  parser.add_argument("pool", type=Path)
  parser.add_argument("test", type=Path)
  parser.add_argument("--model", type=Path, default=Path("english"))
  parser.add_argument("--examples", type=int, default=8)
  parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
  parser.add_argument("--set", action="append", default=[])
  parser.add_argument("--setfit", default="")
  options = parser.parse_args()
  scores = []
  for seed in options.seeds:
    drawn = draw(read(options.pool), options.examples, seed)
    began = time.perf_counter(), time.process_time()
    scored = with_setfit if options.setfit else ours
    score, error = scored(options, drawn, seed)
    wall, process = time.perf_counter() - began[0], time.process_time() - began[1]
    times = {"wall": round(wall, 1), "process": round(process, 1)}  # scoring the test included
    told = {"seed": seed, "score": round(100 * score, 1), "calibration error": round(error, 3)}
    print(json.dumps(told | times), flush=True)
    scores.append(100 * score)
  deviation = statistics.stdev(scores) if len(scores) > 1 else 0.0
  print(f"{statistics.mean(scores):.1f} ± {deviation:.1f}")


def read(file: Path) -> list[Example]:
  """Returns the examples of a file."""
  return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line]


def label(example: dict[str, Any]) -> str:
  """Returns the label of an example, or its first."""
  return str(example["label"] if "label" in example else example["labels"][0])


def draw(pool: list[Example], count: int, seed: int) -> list[Example]:
  """Returns so many examples of each label."""
  rng, labels = np.random.default_rng(seed), np.array([label(x) for x in pool])
  chosen = [rng.permutation(np.flatnonzero(labels == x))[:count] for x in np.unique(labels)]
  return [pool[i] for i in np.concatenate(chosen)]


def ours(options: argparse.Namespace, drawn: list[Example], seed: int) -> tuple[float, float]:
  """Returns the test score and the calibration error of what the command makes of examples."""
  from luke_jax.files import Path as AnyPath
  from luke_jax.formats.files import Faults
  from luke_jax.inference.predicting import predictions
  from luke_jax.inference.settings import task_of
  from luke_jax.model import Model
  from luke_jax.runs.models import run_model
  from luke_jax.runs.recipes import task_experiment
  from luke_jax.runs.training import run
  from luke_jax.tasks.calibration import calibration_error
  from luke_jax.tasks.running import checked, read_examples

  with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "train.jsonl"
    file.write_text("".join(json.dumps(x) + "\n" for x in drawn), encoding="utf-8")
    files, settings = (AnyPath(file), None), [*options.set, f"run.seed={seed}"]
    chosen = task_experiment(options.task, files, options.model, settings)
    run(chosen, AnyPath(folder) / "run")
    model = Model.of(run_model(AnyPath(folder) / "run")[0])
  task, faults = task_of(model), Faults(skip=True)  # the few texts that are longer than a row
  examples = checked(task, read_examples(task, str(options.test), faults), faults)
  found = [x for _, x in predictions(model, task, examples, faults, file=str(options.test))]
  made = task.evaluate(examples, found)
  score = made.scores["accuracy" if options.task == "classification" else "f1"]
  return score, calibration_error(made.answers)


def with_setfit(
  options: argparse.Namespace, drawn: list[Example], seed: int
) -> tuple[float, float]:
  """Returns the test accuracy of SetFit with its default settings, and no calibration error."""
  from datasets import Dataset
  from setfit import SetFitModel, Trainer, TrainingArguments

  test = read(options.test)
  data = Dataset.from_list([{"text": x["text"], "label": label(x)} for x in drawn])
  with tempfile.TemporaryDirectory() as folder:
    settings = TrainingArguments(batch_size=16, num_epochs=1, seed=seed, output_dir=folder)
    model = SetFitModel.from_pretrained(options.setfit)
    Trainer(model=model, args=settings, train_dataset=data).train()
  answers = model.predict([x["text"] for x in test])
  right = [str(answer) == label(x) for answer, x in zip(answers, test, strict=True)]
  return float(np.mean(right)), math.nan


if __name__ == "__main__":
  main()
