"""`luke-jax experiment table`."""

from typing import Annotated

from tyro.conf import Positional, arg

from luke_jax.errors import InputError
from luke_jax.files import Path, whole
from luke_jax.results.records import read_results
from luke_jax.results.tables import tables


def run(
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
