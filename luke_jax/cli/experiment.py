"""`luke-jax experiment run`."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import jax
from tyro.conf import Positional, UseAppendAction, arg

from luke_jax.cli.process import outcome
from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.runs.recipes import consistent
from luke_jax.runs.results import RESULT, SeedResult, finished, hash_of
from luke_jax.runs.training import run
from luke_jax.training import directory, processes
from luke_jax.training.experiment import Experiment
from luke_jax.training.experiment_files import experiment_and_paper, file_and_row
from luke_jax.training.loop import Summary
from luke_jax.training.metrics import summary_line
from luke_jax.training.overrides import override
from luke_jax.training.watch import STATUS, watching

SPLITS = ("dev", "test")


def experiment_run(
  experiment: Annotated[Path, Positional, arg(metavar="EXPERIMENT")],
  /,
  *,
  seeds: str = "1..5",
  output: Path | None = None,
  set: UseAppendAction[tuple[str, ...]] = (),
) -> int:
  """Runs an experiment with several seeds, scores each on dev and test, and records the results.

  Each seed has a folder in the output. The same command resumes; seeds that are done stay as
  they are. In a checkout, `python -m experiments.results.table` makes the paper's tables of the
  results.

      luke-jax experiment run experiments/ner.py:luke-large --seeds 1..5

  Args:
    experiment: Experiment file, FILE.py, or a row of one, FILE.py:ROW.
    seeds: First and last seed, or a list: 1..5 or 1,3,12.
    output: Folder for the seeds' folders; by default results/ner/luke-large for the file above.
    set: A field by its dotted name and its value, as often as needed.
  """
  with watching(outcome) as watch:
    processes.join(None, None, None, before=watch.with_others)
    file, row = file_and_row(experiment)
    output = output or Path(
      "results", file.stem if row else file.resolve().parent.name, row or file.stem
    )
    base, paper = experiment_and_paper(experiment)
    folders = []
    for seed in parse_seeds(seeds):
      folder = output / f"seed-{seed}"
      resolved = consistent(override(base, [*set, f"run.seed={seed}"]))
      if not (folder / RESULT).exists():
        summary = run_seed(resolved, folder, experiment, changes=set, paper=paper)
        if summary["status"] != "done":
          print(summary_line({"status": summary["status"], "seed": seed, "step": summary["step"]}))
          return STATUS[summary["status"]]
      if jax.process_index() == 0:
        folders += [folder]
    _print_results(folders, output)
    return 0


def parse_seeds(text: str) -> list[int]:
  """Returns the seeds that "1..5" or "1,3,12" stands for."""
  if match := re.fullmatch(r"(\d+)\.\.(\d+)", text):
    first, last = map(int, match.groups())
    if first <= last:
      return list(range(first, last + 1))
  elif re.fullmatch(r"\d+(,\d+)*", text):
    return list(dict.fromkeys(map(int, text.split(","))))
  raise InputError(f"--seeds: {text!r}; expected first..last, such as 1..5, or a list, such as 1,3")


def _print_results(folders: Sequence[Path], output: Path) -> None:
  results = [directory.read_json(folder / RESULT) for folder in folders]
  for result in results:
    scores = [
      f"{split} {x} {y:.4f}" for split, of in result["scores"].items() for x, y in of.items()
    ]
    print(f"seed {result['seed']}: {', '.join(scores)}")
  if results:
    seeds = [result["seed"] for result in results]
    print(summary_line({"status": "done", "seeds": seeds, "folder": str(output)}))


def run_seed(
  experiment: Experiment,
  folder: Path,
  file: Path,
  *,
  changes: Sequence[str],
  paper: Mapping[str, Any],
) -> Summary:
  """Trains an experiment with its seed and scores it on dev and test; returns the summary.

  The result names the experiment's `file`, the `changes` of it, and the paper's row.
  """
  summary = run(experiment, folder, splits=SPLITS)
  if summary["status"] == "done" and jax.process_index() == 0:
    result = SeedResult(
      experiment=str(file),
      seed=experiment.run.seed,
      scores=_by_split(summary),
      seconds=sum(summary["seconds"].values()),
      steps=summary["steps"],
      paper=paper,
      changes=tuple(changes),
      data={source: hash_of(source) for source in experiment.engine.splits.values()},
      parameters=_parameters(experiment),
    )
    finished(result, folder, file)  # last: until then the same command repeats the seed
  return summary


def _by_split(summary: Summary) -> dict[str, dict[str, float]]:
  scores = {split: {} for split in SPLITS}
  for name, value in summary.items():
    split, _, metric = name.partition("/")
    if metric and split in scores:
      scores[split][metric] = value
  return {split: metrics for split, metrics in scores.items() if metrics or split == "dev"}


def _parameters(experiment: Experiment) -> int:
  key = jax.random.key(0)
  shapes = jax.eval_shape(lambda: experiment.engine.initial_params(experiment.backbone, key))
  return sum(math.prod(x.shape) for x in jax.tree.leaves(shapes))
