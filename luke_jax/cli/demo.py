"""`luke-jax demo`."""

import sys
import time
from collections.abc import Sequence
from pathlib import Path

import jax
from rich.console import Console
from rich.table import Table
from rich.text import Text

from luke_jax.demo import report, running, screen
from luke_jax.demo.steps import check_repository, steps
from luke_jax.training.metrics import summary_line


def run(*, output: Path = Path("demo")) -> int:
  """Does everything once, small: from a wiki's dump to five fine-tuned tasks and a page of results.

  Takes five to seven minutes on two cores, some more where libtpu compiles too, and needs no
  network. It runs in a checkout of the repository, installed by `pip install --editable .`, as
  `make demo` does. After an interruption the same command continues. The last line printed is a
  summary in JSON; the page is OUTPUT/report.html.

      luke-jax demo

  Args:
    output: Folder for everything that is made.
  """
  check_repository()
  folder, started = output.resolve(), time.monotonic()
  planned = steps(folder)
  try:
    with screen.Screen(Console(stderr=True)) as shown:
      seconds = running.run(planned, folder, shown.show)
  except KeyboardInterrupt:
    print("luke-jax: interrupted; the same command continues", file=sys.stderr)
    return 130
  jax.config.update("jax_platforms", "cpu")  # as the steps
  report.report(folder, planned, seconds).save(folder / "report.html")
  rows = report.rows(folder, seconds)
  console = Console()
  console.print(_table(rows))
  if "plan" not in seconds:
    missing = f"Nothing was compiled for TPUs: libtpu is missing; {report.tpu_command()}"
    console.print(Text(missing), soft_wrap=True)
  page = str(output / "report.html")
  console.print(f"Look at {page}", soft_wrap=True)
  scores = {row.task: round(row.score, 1) for row in rows}
  print(summary_line({"report": page, **scores, "seconds": round(time.monotonic() - started)}))
  return 0


def _table(rows: Sequence[report.TaskScore]) -> Table:
  table = Table("task", "metric")
  for name in ("score", "not pretrained", "seconds"):
    table.add_column(name, justify="right")
  for row in rows:
    figures = (f"{row.score:.1f}", f"{row.not_pretrained:.1f}", f"{row.seconds:.0f}")
    table.add_row(row.task, row.metric, *figures)
  return table
