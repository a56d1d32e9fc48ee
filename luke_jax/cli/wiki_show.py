"""`luke-jax wiki show`."""

from typing import Annotated

from rich.console import Console
from tyro.conf import Positional, arg

from luke_jax.files import Path
from luke_jax.wiki.show import as_text, shown_records, write_html


def run(
  records: Annotated[Path, Positional, arg(metavar="RECORDS")],
  /,
  *,
  n: int = 3,
  html: Path | None = None,
) -> None:
  """Shows records as text with their entities marked, to check them before training.

  An entity of the vocabulary is followed by its title where the text has another name for it.
  Entities outside of the vocabulary have another colour.

      luke-jax wiki show wiki/en --n 3 --html records.html

  Args:
    records: Folder that `luke-jax wiki build` made, or the folder `pretraining` in it.
    n: Number of records.
    html: File for the same as a page of HTML, which needs no other file.
  """
  shown = shown_records(records, n)
  if html:
    write_html(shown, html)
  console = Console()
  for record in shown:
    console.print(as_text(record), "", soft_wrap=not console.is_jupyter)
  if html:
    print(f"{html}: {len(shown)} records")
