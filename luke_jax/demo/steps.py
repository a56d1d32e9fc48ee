"""Steps of the demo, as the commands that a user would type."""

import json
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import luke_jax
from luke_jax.errors import InputError
from luke_jax.tasks.known import CLASSES

REPOSITORY = Path(luke_jax.__file__).resolve().parents[1]
WIKI = "data/sample_wiki"
TPU = "v5e:16x16"
SEED = 1
# The record sizes that experiments/pretraining/tiny.py expects.
RECORD_OPTIONS = (
  *("--entities", "300", "--max-words", "48", "--max-entities", "16"),
  *("--unknown-entities", "skip"),
)
# More than tiny.py has: meanwhile the other core runs steps that do not need the pretrained model.
STEPS = 2500
# Fewer than in most of the experiments' files, to take less time.
EPOCHS = {"typing": 2, "relations": 3, "ner": 1.5, "cloze": 3, "qa": 2.5}
FRESH = "-not-pretrained"  # suffix of the steps that train a task from random parameters


class Step(NamedTuple):
  """Command of luke-jax, and the names of the steps that it needs."""

  name: str
  title: str
  arguments: tuple[str, ...]  # to luke-jax, which runs in the repository
  needs: tuple[str, ...] = ()

  @property
  def command(self) -> str:
    """Returns the command as a user would type it."""
    quoted = (f"'{x}'" if set(x) & set(" ()[]'\"") else x for x in self.arguments)
    return f"luke-jax {' '.join(quoted)}"


def check_repository() -> None:
  """Raises InputError unless the files that only a checkout has are present."""
  if not (REPOSITORY / WIKI).is_dir() or not (REPOSITORY / "experiments/sample").is_dir():
    raise InputError(
      f"{REPOSITORY}: no {WIKI}; expected a checkout of the repository, installed by"
      " pip install --editable ."
    )


def steps(folder: Path) -> list[Step]:
  """Returns all steps, each after those it needs; steps that most others need come first."""
  if folder.is_relative_to(REPOSITORY):  # the working directory of the steps
    folder = folder.relative_to(REPOSITORY)
  records, model = folder / "records", folder / "luke"
  text = records / "pretraining"
  build = ("wiki", "build", f"{WIKI}/samplewiki-pages-articles-multistream.xml.bz2")
  build += ("--tokenizer", f"{WIKI}/tokenizer", *RECORD_OPTIONS, "--output", str(records))
  corpora = json.dumps([str(text)])
  pretrain = ("train", "experiments/pretraining/tiny.py", "--output", str(folder / "pretraining"))
  pretrain += ("--set", f"task.corpora={corpora}", "--set", f"run.steps={STEPS}")
  ordered = [
    Step("records", "wiki dump to training records", build),
    Step("pretraining", "pretrain a tiny LUKE", pretrain, ("records",)),
    Step("export", "model directory", ("export", pretrain[3], str(model)), ("pretraining",)),
  ]
  for task in CLASSES:
    more = [f"task.text={text}", f"run.start={model}"]
    ordered.append(Step(task, f"fine-tune: {task}", _task(folder, task, more), ("export",)))
  ordered.append(_torch(folder))
  for task in CLASSES:
    more = [f"task.text={text}", "run.start=null"]
    title = f"not pretrained: {task}"
    ordered.append(Step(task + FRESH, title, _task(folder, task + FRESH, more), ("records",)))
  if find_spec("libtpu"):
    ordered.append(_plan(folder))
  return ordered


def _task(folder: Path, name: str, changes: Sequence[str]) -> tuple[str, ...]:
  task = name.removesuffix(FRESH)
  file, changes = f"experiments/sample/{task}.py", [*changes, f"run.epochs={EPOCHS[task]}"]
  arguments = ("experiment", "run", file, "--seeds", str(SEED), "--output", str(folder / name))
  return (*arguments, *(part for change in changes for part in ("--set", change)))


def _torch(folder: Path) -> Step:
  source = f"{run_folder(folder, 'ner')}/model"
  arguments = ("convert", source, str(folder / "pytorch"))
  return Step("pytorch", "a directory for PyTorch", arguments, ("ner",))


def _plan(folder: Path) -> Step:
  experiment = "experiments/pretraining/luke_large.py"
  arguments = ("plan", experiment, "--topology", TPU)
  return Step("plan", f"compile for 256 TPU chips ({TPU})", arguments)


def run_folder(folder: Path, name: str) -> Path:
  """Returns the folder of a task's run."""
  return folder / name / f"seed-{SEED}"


def result(folder: Path, name: str) -> Mapping[str, Any]:
  """Returns the result that a task's run wrote."""
  return json.loads((run_folder(folder, name) / "result.json").read_text(encoding="utf-8"))
