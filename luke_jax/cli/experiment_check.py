"""`luke-jax experiment check`."""

from typing import Annotated

from rich.console import Console
from rich.table import Table
from rich.text import Text
from tyro.conf import Positional, UseAppendAction, arg

from luke_jax.cli.plan import Step
from luke_jax.files import Path
from luke_jax.plan.chips import GIB, parse_topology
from luke_jax.plan.memory import OutOfMemory
from luke_jax.results.paper_runs import Check, checks
from luke_jax.runs.recipes import read_experiment
from luke_jax.training.metrics import summary_line

COUNTED = {"equal": True, "deviating": False, "not_checked": None}
MARKS = {True: ("yes", "green"), False: ("NO", "bold red"), None: ("?", "yellow")}


def run(
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

      luke-jax experiment check experiments/typing/luke_large.py

  Args:
    experiment: Python file with a function `config()` that returns an Experiment.
    topology: Kind of chip and shape of the slice that it would train on, such as v5e:2x2.
    set: A field by its dotted name and its value, as often as needed.
  """
  rows = list(checks(read_experiment(experiment, set)))
  if topology is not None:
    # The number of steps, for which the planner would read the data, does not matter here.
    changes = (*set, "run.epochs=null", "run.steps=1")
    rows.append(_memory(Step(experiment, changes, parse_topology(topology))))
  table = Table()
  for name in ("what", "the paper's run", "this one", "equal"):
    table.add_column(name, overflow="fold")
  for row in rows:
    table.add_row(row.what, Text(row.expected), Text(row.found), Text(*MARKS[row.right]))
  Console().print(table)
  counts = {name: sum(row.right is right for row in rows) for name, right in COUNTED.items()}
  print(summary_line(counts))
  return int(counts["deviating"] > 0)


def _memory(step: Step) -> Check:
  available = f"{step.topology.chip.hbm_bytes / GIB:.1f} GiB of a chip"
  compiled = step.compiled()
  if isinstance(compiled, OutOfMemory):
    needed = f"{compiled.needed / GIB:.1f} GiB"
    return Check(f"memory on {step.topology}", f"at most {available}", needed, False)
  needed = f"{compiled.memory.total / GIB:.1f} GiB"
  return Check(f"memory on {step.topology}", f"at most {available}", needed, True)
