"""`luke-jax experiment`: `check`, `run`, `table` and `compare`."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import jax
from rich.table import Table
from rich.text import Text
from tyro.conf import Positional, UseAppendAction, arg

from luke_jax.cli.printing import stderr_console
from luke_jax.cli.process import outcome
from luke_jax.errors import InputError
from luke_jax.files import Path, whole
from luke_jax.plan.chips import GIB, parse_topology
from luke_jax.plan.compiling import OutOfMemory
from luke_jax.results.paper_runs import Check, checks
from luke_jax.results.tables import (
  RESULT,
  SeedResult,
  compare,
  comparison_table,
  finished,
  hash_of,
  read_results,
  tables,
)
from luke_jax.runs.planned import PlannedStep
from luke_jax.runs.recipes import consistent, read_experiment
from luke_jax.runs.training import run
from luke_jax.terminal import Console
from luke_jax.training import processes
from luke_jax.training.experiment import Experiment, experiment_and_paper, file_and_row
from luke_jax.training.loop import Summary
from luke_jax.training.metrics import summary_line
from luke_jax.training.overrides import override
from luke_jax.training.watch import STATUS, watching

COUNTED = {"equal": True, "deviating": False, "not_checked": None}
MARKS = {True: ("yes", "green"), False: ("NO", "bold red"), None: ("?", "yellow")}
SPLITS = ("dev", "test")


def experiment_check(
  experiment: Annotated[Path, Positional, arg(metavar="EXPERIMENT")],
  /,
  *,
  topology: str | None = None,
  set: UseAppendAction[tuple[str, ...]] = (),
) -> int:
  """Checks whether a row of the paper's tables can reach its number, before anything is trained.

  Compares data, pretrained model, settings and number of steps with those of the paper. With
  --topology also compiles the training step, which shows whether it fits. A question mark is on
  what no file says. The last line printed is a summary in JSON, and the status is 1 if something
  deviates.

      luke-jax experiment check experiments/entity_typing.py:luke-large

  Args:
    experiment: Experiment file, FILE.py, or a row of one, FILE.py:ROW.
    topology: Kind of chip and shape of the slice that it would train on, such as v5e:2x2.
    set: A field by its dotted name and its value, as often as needed.
  """
  rows = list(checks(read_experiment(experiment, set)))
  if topology is not None:
    # The number of steps, for which the planner would read the data, does not matter here.
    changes = (*set, "run.epochs=null", "run.steps=1")
    rows.append(_memory(PlannedStep(experiment, changes, parse_topology(topology))))
  table = Table()
  for name in ("what", "the paper's run", "this one", "equal"):
    table.add_column(name, overflow="fold")
  for row in rows:
    table.add_row(row.what, Text(row.expected), Text(row.found), Text(*MARKS[row.right]))
  Console().print(table)
  counts = {name: sum(row.right is right for row in rows) for name, right in COUNTED.items()}
  print(summary_line(counts))
  return int(counts["deviating"] > 0)


def _memory(step: PlannedStep) -> Check:
  available = f"{step.topology.chip.hbm_bytes / GIB:.1f} GiB of a chip"
  with stderr_console().status(f"compiling for {step.topology}"):
    compiled = step.compiled()
  if isinstance(compiled, OutOfMemory):
    needed = f"{compiled.needed / GIB:.1f} GiB"
    return Check(f"memory on {step.topology}", f"at most {available}", needed, False)
  needed = f"{compiled.memory.total / GIB:.1f} GiB"
  return Check(f"memory on {step.topology}", f"at most {available}", needed, True)


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
  they are. `luke-jax experiment table` makes the paper's tables from the results.

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


def _print_results(folders: list[Path], output: Path) -> None:
  if folders:
    results = read_results(folders)
    print(tables(results))
    seeds = [result.seed for result in results]
    print(summary_line({"status": "done", "seeds": seeds, "folder": str(output)}))


def experiment_table(
  folders: Annotated[tuple[Path, ...], Positional, arg(metavar="FOLDER...")],
  /,
  *,
  output: Path | None = None,
) -> None:
  """Writes the paper's tables with the measured mean, deviation and best over seeds beside them.

      luke-jax experiment table results --output tables.md

  Args:
    folders: Folders of luke-jax experiment run, or folders of those.
    output: File for the tables, as Markdown; without one they are printed.
  """
  if not folders:
    raise InputError("FOLDER: missing; expected results of luke-jax experiment run")
  results = read_results(folders)
  text = tables(results)
  if output is None:
    print(text, end="")
    return
  with whole(output) as part:
    part.write_text(text, encoding="utf-8")
  print(f"{output}: {len(results)} results")


def experiment_compare(
  folders: Annotated[tuple[Path, ...], Positional, arg(metavar="FOLDER...")],
  /,
  *,
  split: str = "",
  metric: str = "",
) -> None:
  """Compares experiments with the first one, in pairs of a seed.

  p is the share of all ways to turn the signs of the differences around that give a mean as large.

      luke-jax experiment compare results/aware results/original

  Args:
    folders: Folders of luke-jax experiment run, one for each experiment.
    split: Split whose scores are compared; by default that of the first experiment in tables.
    metric: Metric that is compared; by default the first of the first result.
  """
  if len(folders) < 2:
    raise InputError(f"FOLDER: {len(folders)} given; expected two or more")
  results = {str(folder): read_results([folder]) for folder in folders}
  if len(results) < len(folders):
    raise InputError("FOLDER: one of them twice; expected different experiments")
  first = results[str(folders[0])][0]
  split = split or first.split
  metric = metric or next(iter(first.scores.get(split, {})), "metric")
  scores = {name: _by_seed(name, x, split, metric) for name, x in results.items()}
  print(comparison_table(compare(scores), metric), end="")


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


def _by_seed(name: str, results: Sequence[SeedResult], split: str, metric: str) -> dict[int, float]:
  """Returns an experiment's scores by seed; each seed may occur once."""
  scores_by_seed: dict[int, float] = {}
  for result in results:
    scores = result.scores.get(split, {})
    if metric not in scores:
      measured = ", ".join(f"{split} {m}" for split, x in result.scores.items() for m in x)
      raise InputError(f"{name}: no {split} {metric}; expected one of {measured}")
    if result.seed in scores_by_seed:
      raise InputError(f"{name}: seed {result.seed} twice; expected the folder of one experiment")
    scores_by_seed[result.seed] = scores[metric]
  return scores_by_seed
