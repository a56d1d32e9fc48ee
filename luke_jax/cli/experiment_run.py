"""`luke-jax experiment run`."""

import dataclasses
import functools
import math
import re
from typing import Annotated, Any

import jax
from tyro.conf import Positional, UseAppendAction, arg

from luke_jax.cli.outcomes import outcome
from luke_jax.cli.task_inputs import report_faults
from luke_jax.convert.card import with_record
from luke_jax.convert.parts import ModelParts
from luke_jax.convert.saving import save
from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.inference.predicting import predictions
from luke_jax.inference.settings import task_of
from luke_jax.results.records import RESULT, Result, finished, hash_of, read_results
from luke_jax.results.tables import tables
from luke_jax.runs.models import MODEL, run_model
from luke_jax.runs.notes import train
from luke_jax.runs.recipes import consistent
from luke_jax.runs.starts import start_directory, start_params
from luke_jax.tasks.files import Faults
from luke_jax.tasks.fine_tuning import FineTunedTask
from luke_jax.tasks.qa.task import QuestionAnswering
from luke_jax.training import processes
from luke_jax.training.experiment import Experiment
from luke_jax.training.experiment_files import experiment_and_notes
from luke_jax.training.metrics import summary_line
from luke_jax.training.overrides import override
from luke_jax.training.watch import STATUS, watching

PAPER = "PAPER"  # an experiment file's constant: the paper's row


def run(
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

      luke-jax experiment run experiments/ner/luke_large.py --seeds 1..5

  Args:
    experiment: Python file with a function `config()` that returns an Experiment.
    seeds: First and last seed, or a list: 1..5 or 1,3,12.
    output: Folder for the seeds' folders; by default results/ner/luke_large for the file above.
    set: A field by its dotted name and its value, as often as needed.
  """
  with watching(outcome) as watch:
    processes.join(None, None, None, before=watch.with_others)
    output = output or Path("results", experiment.resolve().parent.name, experiment.stem)
    base, notes = experiment_and_notes(experiment, PAPER)
    folders = []
    for seed in parse_seeds(seeds):
      folder = output / f"seed-{seed}"
      resolved = consistent(override(base, [*set, f"run.seed={seed}"]))
      if not (folder / RESULT).exists():
        summary = _train(resolved, folder)
        if summary["status"] != "done":
          print(summary_line({"status": summary["status"], "seed": seed, "step": summary["step"]}))
          return STATUS[summary["status"]]
        if jax.process_index() == 0:
          result = Result(
            str(experiment),
            seed,
            _scored(resolved, folder, summary),
            sum(summary["seconds"].values()),
            summary["steps"],
            notes,
            tuple(set),
            _data(resolved),
            parameters=_parameters(resolved),
          )
          finished(result, folder, experiment)  # last: until then the same command repeats the seed
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


def _train(resolved: Experiment, folder: Path) -> dict[str, Any]:
  start = resolved.run.start
  params = functools.partial(start_params, start_directory(start), resolved) if start else None
  return train(resolved, folder, start=params)


def _scored(
  resolved: Experiment, folder: Path, summary: dict[str, Any]
) -> dict[str, dict[str, float]]:
  """Returns the scores of the best checkpoint; writes it as a model with them in its card."""
  scores = {"dev": {k[4:]: v for k, v in summary.items() if k.startswith("dev/")}}
  # With several processes, one alone cannot read a checkpoint.
  if not isinstance(resolved.task, FineTunedTask) or jax.process_count() > 1:
    return scores
  model, record = run_model(folder)
  for split in ("dev", "test"):
    if file := resolved.task.splits.get(split):
      scores[split] = _score(model, resolved.task, file)
  save(with_record(model, {**record, "scores": scores}), folder / MODEL)
  return scores


def _score(model: ModelParts, task: FineTunedTask, file: str) -> dict[str, float]:
  tables = {"mentions": task.mentions} if isinstance(task, QuestionAnswering) else {}
  settings = dataclasses.replace(task_of(model), words=task.words, **tables)
  faults = Faults(skip=task.skip_bad)
  examples = settings.check(task.read_examples(file, faults), faults)
  predicted = [prediction for _, prediction in predictions(model, settings, examples, faults)]
  report_faults(faults)
  return dict(settings.evaluate(examples, predicted).scores)


def _parameters(resolved: Experiment) -> int:
  key = jax.random.key(0)
  shapes = jax.eval_shape(lambda: resolved.task.initial_params(resolved.backbone, key))
  return sum(math.prod(x.shape) for x in jax.tree.leaves(shapes))


def _data(resolved: Experiment) -> dict[str, str | None]:
  return {file: hash_of(file) for file in resolved.task.splits.values()}


def _print_results(folders: list[Path], output: Path) -> None:
  if folders:
    results = read_results(folders)
    print(tables(results))
    seeds = [result.seed for result in results]
    print(summary_line({"status": "done", "seeds": seeds, "folder": str(output)}))
