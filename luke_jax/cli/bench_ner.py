"""`luke-jax bench ner`."""

from typing import Annotated

from rich.console import Console
from rich.table import Table
from tyro.conf import Positional, arg

from luke_jax.bench.ner import BATCH, Result
from luke_jax.bench.ner import run as measure
from luke_jax.cli.figures import write_figures
from luke_jax.cli.stderr import stderr_console
from luke_jax.files import Path, check_place
from luke_jax.nn.layers import Dtype


def run(
  directory: Annotated[Path, Positional, arg(metavar="DIRECTORY")],
  /,
  *,
  size: str = "luke-base",
  dtype: Dtype = "float32",
  documents: int = 4,
  rounds: int = 3,
  output: Path | None = None,
) -> None:
  """Times named entity recognition against the usual transformers loop.

  A model with random parameters reads documents of 200 to 400 made-up words, sentence by sentence
  with all spans up to 16 words, on both sides, which take turns. The usual loop is in float32, on a
  GPU in the type of ours, and pads 8 sentences at a time, as they come. That both find the same
  entities is checked first; in bfloat16 those that only one side finds are counted. Needs the extra
  `parity`.

      luke-jax bench ner luke-base --documents 4

  Args:
    directory: Directory with a tokenizer, such as a model's.
    size: A named size, such as luke-base.
    dtype: Type of luke_jax's products.
    documents: Number of documents.
    rounds: Number of times each side runs.
    output: File for the figures, as JSON.
  """
  if output:
    check_place(output)
  with stderr_console().status(f"timing {size}"):
    result = measure(directory, size, dtype, documents, rounds)
  console = Console()
  console.print(_table(result))
  console.print(f"{result.machine}; {result.versions}", soft_wrap=True)
  rates = result.sentences_per_second
  found = {"entities": result.entities, "different": result.different}
  summary = {"ratio": result.timing.ratio, "sentences_per_second": rates, **found}
  write_figures(result, summary, output)


def _table(result: Result) -> Table:
  title = (
    f"{result.size}, {result.dtype}, {result.documents} documents: {result.sentences} sentences,"
    f" {result.words} words, {result.spans} spans; batches of {BATCH}"
  )
  table = Table("", "luke_jax", "transformers", "ratio", title=title)
  rates = [f"{rate:.2f}" for rate in result.sentences_per_second.values()]
  table.add_row("sentences a second", *rates, f"{result.timing.ratio:.2f}")
  return table
