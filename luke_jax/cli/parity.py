"""`luke-jax parity`."""

from collections import defaultdict
from typing import Annotated

from rich.console import Console
from rich.table import Table
from tyro.conf import Positional, arg

from luke_jax.cli.stderr import stderr_console
from luke_jax.convert.card import write_parity
from luke_jax.convert.reading import named_directory
from luke_jax.files import Path, check_place, write_json
from luke_jax.results.parity import Difference, Parity, compare


def run(
  directory: Annotated[Path, Positional, arg(metavar="DIRECTORY")],
  /,
  *,
  tolerance: float = 1e-4,
  output: Path = Path("parity.json"),
  card: bool = False,
) -> int:
  """Compares a model directory with transformers, number by number.

  Both sides read the directory and run in float32 on sentences with 0, 1 and many entities. The
  status is 1 if a key is missing or unknown, or a difference is above the tolerance.

      luke-jax parity luke-base
      luke-jax parity runs/ner/model --card

  Args:
    directory: Model directory that both sides can read, or the name of a model.
    tolerance: Largest absolute difference to accept.
    output: File for every figure, as JSON.
    card: Writes the result in the directory's model card too.
  """
  check_place(output)
  directory = named_directory(directory)
  with stderr_console().status(f"comparing {directory}"):
    parity = compare(directory, tolerance)
  console = Console()
  console.print(_keys_table(parity))
  console.print(_numbers_table(parity))
  write_json(output, parity.as_json())
  verdict = "equal" if parity.passed else "DIFFERENT"
  largest = max(row.largest for rows in parity.batches.values() for row in rows)
  sentence = (
    f"{verdict}: {parity.architecture}, largest difference {largest:.1e}, tolerance"
    f" {tolerance:.0e}, transformers {parity.transformers}"
  )
  if card:
    write_parity(directory, f"{sentence}; in float32, by `luke-jax parity`.")
  print(f"{sentence}; every figure in {output}")
  return 0 if parity.passed else 1


def _keys_table(parity: Parity) -> Table:
  table = Table("keys", "number", "which", title=parity.directory)
  for what, names in parity.keys.items():
    table.add_row(what, str(len(names)), ", ".join(names[:5]) + (" …" if len(names) > 5 else ""))
  return table


def _numbers_table(parity: Parity) -> Table:
  """Returns a table with a row for every output and layer; the heads of a layer share one."""
  table = Table("largest (mean)", *parity.batches, title="against transformers")
  columns = [_by_layer(rows) for rows in parity.batches.values()]
  for name in dict.fromkeys(name for column in columns for name in column):
    table.add_row(name, *(_cell(column.get(name), parity.tolerance) for column in columns))
  return table


def _by_layer(rows: list[Difference]) -> dict[str, list[Difference]]:
  grouped = defaultdict(list)
  for row in rows:
    grouped[row.what.partition(", head")[0]].append(row)
  return grouped


def _cell(rows: list[Difference] | None, tolerance: float) -> str:
  if not rows:
    return ""
  worst = max(rows, key=lambda row: row.largest)
  head = worst.what.partition(", head ")[2]
  text = f"{worst.largest:.1e} ({worst.mean:.0e})" + (f" head {head}" if head else "")
  return text if worst.largest <= tolerance else f"[red]{text}[/red]"
