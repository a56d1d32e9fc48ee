"""`luke-jax train` and `luke-jax settings`."""

import dataclasses
import re
import sys
import warnings
from collections.abc import Sequence
from typing import Annotated

import jax
from rich.table import Table
from rich.text import Text
from tyro.conf import OmitArgPrefixes, Positional, UseAppendAction, arg

from luke_jax.cli.process import BEGUN, outcome
from luke_jax.cli.task_inputs import FileOptions
from luke_jax.errors import InputError, perhaps
from luke_jax.files import Path, in_bucket, write_text
from luke_jax.runs import training
from luke_jax.runs.outline import outline
from luke_jax.runs.recipes import Chosen, chosen_experiment, plain_experiment, read_experiment
from luke_jax.runs.results import REPORT, write_report
from luke_jax.runs.rules import HELD_OUT
from luke_jax.tasks.contract import TextTask
from luke_jax.tasks.known import CLASSES, is_name
from luke_jax.terminal import Console
from luke_jax.training import experiment_files, processes
from luke_jax.training.directory import CONFIG, PIPED
from luke_jax.training.experiment import Experiment, describe
from luke_jax.training.loop import Summary
from luke_jax.training.metrics import summary_line
from luke_jax.training.overrides import Setting, settings
from luke_jax.training.pace import LEAST_DEV
from luke_jax.training.watch import STATUS, watching

STDIN = "-"  # as a file of examples
# Names of columns, one of which a table's header has.
HEADERS = {"text", "word", "token", "context"}


@dataclasses.dataclass(frozen=True)
class Cluster:
  """Options for several processes, which a TPU slice needs none of."""

  coordinator: str | None = None
  """Address of process 0, host:port, where processes cannot find each other."""
  processes: int | None = None
  """Number of processes."""
  process: int | None = None
  """Number of this process, from 0."""


def train(
  experiment: Annotated[Path, Positional, arg(metavar="EXPERIMENT|TASK")],
  /,
  *,
  output: Path,
  train: tuple[Path, ...] = (),
  dev: Path | None = None,
  model: Path | None = None,
  adapter: int | None = None,
  minutes: float | None = None,
  folds: int | None = None,
  curve: bool = False,
  set: UseAppendAction[tuple[str, ...]] = (),
  profile: int = 0,
  verbose: bool = False,
  why: bool = False,
  form: OmitArgPrefixes[FileOptions],
  cluster: OmitArgPrefixes[Cluster],
) -> int:
  """Trains what an experiment file describes; the same command resumes a run.

  Or fine-tunes a model on files of a task: typing, relations, ner, cloze, qa, classification,
  tagging, linking, labels or facts. Labels are those of the training file, and settings suit its
  examples; OUTPUT/model is the model.

  On a cluster or a TPU slice run the same command on every host. SIGTERM saves a checkpoint and
  leaves with status 75, Ctrl-C with 130, and the same command goes on. The last line is JSON.

      luke-jax train experiments/synthetic.py:tiny --output runs/tiny --set run.steps=40
      luke-jax train ner --train a.conll --model english --output runs/ner --minutes 5

  Args:
    experiment: Experiment file, FILE.py, or a row of one, FILE.py:ROW, or a task: one of these, or
      a file with a class of your own, of which --train takes the task and no settings.
    output: Folder for checkpoints, metrics and the config; on every host the same, also gs://….
    train: Files of examples to train a task on; - for what is piped in, which OUTPUT keeps.
    dev: File of examples that a task is scored on; without it a tenth of the others, unless few.
    model: Directory of the model that a task starts from, or its name: english, english-base.
    adapter: Rank of adapters that train in place of kernels; OUTPUT/adapter is a few megabytes.
    minutes: Time that all of the training takes, from the command's begin to its end.
    folds: Number of parts, each scored by a model of the others; OUTPUT/model is of all examples.
    curve: Trains on 25, 50 and 75 % of the examples too, to tell whether more of them would help.
    set: A field of luke-jax settings by its dotted name and its value, as often as needed.
    profile: Number of steps to write a trace of, into OUTPUT/profile.
    verbose: Prints every setting of a task's training.
    why: Prints which rule set what, and its reason.
  """
  if curve and folds is not None:
    raise InputError("--curve: with --folds; expected one, as each share would train for each part")
  if folds is not None and folds < training.LEAST_FOLDS:
    raise InputError(f"--folds: {folds}; expected {training.LEAST_FOLDS} or more")
  if profile and (curve or folds is not None):
    raise InputError("--profile: with several trainings; expected it without --folds and --curve")
  if profile < 0:
    raise InputError(f"--profile: {profile}; expected a number of steps")
  if not in_bucket(output) and re.match(r"\w+:/", str(output)):
    raise InputError(f"--output: {output}; expected a folder, or gs://BUCKET/FOLDER")
  with watching(outcome) as watch:
    processes.join(*dataclasses.astuple(cluster), before=watch.with_others)
    share = HELD_OUT if curve and dev is None else folds and 1 / max(folds, 2)
    set = (*_changes(adapter, minutes, share), *form.changes(str(experiment)), *set)
    if not is_name(str(experiment)) and not experiment_files.file_and_row(experiment)[0].exists():
      expected = f"one of {', '.join(CLASSES)}{perhaps(str(experiment), CLASSES)}"
      raise InputError(f"{experiment}: no such file; expected an experiment file or {expected}")
    if is_name(str(experiment)) or train or model:
      chosen = _task(experiment, (_examples(train, output), dev), model, set)
    elif dev or why:
      raise InputError("--dev and --why: expected them with --train and --model, of a task")
    else:
      chosen = Chosen(read_experiment(experiment, set), [])
    if jax.process_index() == 0:
      every_setting = verbose or not chosen.reasons
      print((describe if every_setting else outline)(chosen.experiment), flush=True)
      settings = {f"{x.name}={x.value}": x.why for x in chosen.reasons if why}
      for setting, reason in settings.items():
        print(f"{setting:{max(map(len, settings))}}  {reason}", flush=True)
    resolved = chosen.experiment
    summary = _trained(resolved, output, folds, curve=curve, profile=profile)
    _print_end(summary, output, resolved)
    return STATUS.get(summary["status"], 0)


def _changes(adapter: int | None, minutes: float | None, share: float | None) -> list[str]:
  """Returns the changes of fields that have options of their own."""
  given = {"optimizer.adapter": adapter, "run.minutes": minutes, "task.held_out": share}
  return [f"{name}={value}" for name, value in given.items() if value is not None]


def _print_end(summary: Summary, output: Path, trained: Experiment) -> None:
  """Prints what the model gets right and wrong, the scores of parts, and the summary."""
  if jax.process_index() > 0:
    return
  curve = summary.get(training.CURVE, {})
  if "model" in summary:
    if report := write_report(output, trained.task.name, curve):
      Console().print(report)
      print(f"more: {output / REPORT}")
    print(f"with texts of your own: luke-jax try {output}")
  for name, spread in summary.get("folds", {}).items():
    print(f"{name} of the parts: {spread['mean']:.3f} ± {spread['deviation']:.3f}")
  if len(curve) > 1:
    print(f"by share of the examples: {', '.join(f'{x} {y:.3f}' for x, y in curve.items())}")
    print(training.verdict(curve, len(trained.engine.records(trained.backbone, "dev"))))
  print(summary_line(summary))


def _trained(
  experiment: Experiment, output: Path, folds: int | None, *, curve: bool, profile: int
) -> Summary:
  """Returns the summary of a training, or of one on all examples and several on parts."""
  if folds is not None:
    return training.cross_validated(experiment, output, folds, begun=BEGUN)
  if curve:
    _warn_of_small_dev(experiment)
    return training.learning_curve(experiment, output, begun=BEGUN)
  return training.run(experiment, output, profile=profile, begun=BEGUN)


def _warn_of_small_dev(experiment: Experiment) -> None:
  """Warns before the first step of a dev that cannot tell shares of the examples apart."""
  task = experiment.task
  if not isinstance(task, TextTask) or not experiment.engine.scored:
    return
  if (dev := len(experiment.engine.records(experiment.backbone, "dev"))) < LEAST_DEV:
    warnings.warn(f"--curve: {training.untold(dev)}", stacklevel=2)


def _task(
  experiment: Path, files: tuple[str, Path | None], model: Path | None, set: Sequence[str]
) -> Chosen:
  """Returns a task's training on files, with changes, and the reasons for its settings."""
  if model is None:
    raise InputError("--model: missing; expected it, to fine-tune a model for a task")
  if sys.stderr.isatty():
    print(f"reading {files[0]}", file=sys.stderr, flush=True)
  if is_name(str(experiment)):
    return chosen_experiment(str(experiment), files, model, set)
  task, system = experiment_files.own_classes(experiment, TextTask)
  return chosen_experiment(task, files, model, set, system=system)


def _examples(files: Sequence[Path], output: Path) -> str:
  """Returns the setting for the files to train on."""
  if not files:
    raise InputError("--train: missing; expected it, to fine-tune a model for a task")
  names = [str(_piped(output) if str(file) == STDIN else file) for file in files]
  if len(names) > 1 and any("," in name for name in names):
    raise InputError(f"--train: {', '.join(names)}; expected names of several files without commas")
  return ",".join(names)


def _piped(output: Path) -> Path:
  """Returns the file that keeps what is piped in, so that the same command goes on with it."""
  text = "" if sys.stdin.isatty() else sys.stdin.read()
  before = [file for file in output.glob(f"{PIPED}.*") if output.is_dir()]
  if not text.strip():
    if before:
      return before[0]
    raise InputError("--train: -: nothing was piped in; expected examples")
  if before and (output / CONFIG).exists() and before[0].read_text(encoding="utf-8") != text:
    raise InputError(
      f"--train: -: other examples than {output} was trained on; expected the same, none,"
      " or a new folder"
    )
  output.mkdir(parents=True, exist_ok=True)
  file = output / f"{PIPED}{_kind(text)}"
  write_text(file, text)
  return file


def _kind(text: str) -> str:
  """Returns the ending of a file with this text: of lines of JSON, a list, a table or columns."""
  if (first := text.lstrip()[:1]) in ("{", "["):
    return ".jsonl" if first == "{" else ".json"
  cells = re.split(r"[,;\t]", text.lstrip().partition("\n")[0].lower())
  if len(cells) == 1 or not HEADERS & {cell.strip(' "\ufeff') for cell in cells}:
    return ".txt"
  return ".tsv" if "\t" in text.partition("\n")[0] else ".csv"


def list_settings(task: Annotated[str, Positional, arg(metavar="TASK|EXPERIMENT")], /) -> None:
  """Lists every field that --set changes: its type, its default and its meaning.

  The defaults of a task are LUKE's recipe for it; `luke-jax train` has others, which suit the files
  and the model that it starts from.

      luke-jax settings ner

  Args:
    task: typing, relations, ner, cloze, qa, classification, tagging, linking, labels or facts, or
      an experiment file.
  """
  if is_name(task):
    experiment = plain_experiment(task)
  elif experiment_files.is_experiment_file(task):
    experiment = experiment_files.load_experiment(Path(task))
  else:
    raise InputError(
      f"{task}: no task; expected one of {', '.join(CLASSES)}, or an experiment file"
    )
  rows = list(settings(experiment))
  console = Console()
  if console.is_terminal:
    console.print(_settings_table(rows))
    return
  for row in rows:
    print("\t".join(row))


def _settings_table(rows: list[Setting]) -> Table:
  table = Table("field", "type", "default", "meaning")
  for row in rows:
    table.add_row(*map(Text, row))
  return table
