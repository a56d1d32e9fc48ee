"""`luke-jax settings`."""

from typing import Annotated

from rich.console import Console
from rich.table import Table
from rich.text import Text
from tyro.conf import Positional, arg

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.runs.recipes import plain_experiment
from luke_jax.tasks.known import CLASSES
from luke_jax.training.experiment_files import load_experiment
from luke_jax.training.overrides import Setting, settings


def run(task: Annotated[str, Positional, arg(metavar="TASK|EXPERIMENT")], /) -> None:
  """Lists every field that --set changes: its type, its default and its meaning.

  The defaults of a task are LUKE's recipe for it; the sizes are those of the model it starts from.

      luke-jax settings ner

  Args:
    task: typing, relations, ner, cloze, qa, classification or tagging, or an experiment file.
  """
  if task in CLASSES:
    experiment = plain_experiment(task)
  elif Path(task).suffix == ".py":
    experiment = load_experiment(Path(task))
  else:
    raise InputError(
      f"{task}: no task; expected one of {', '.join(CLASSES)}, or an experiment file"
    )
  rows = list(settings(experiment))
  console = Console()
  if console.is_terminal:
    console.print(_table(rows))
    return
  for row in rows:
    print("\t".join(row))


def _table(rows: list[Setting]) -> Table:
  table = Table("field", "type", "default", "meaning")
  for row in rows:
    table.add_row(*map(Text, row))
  return table
