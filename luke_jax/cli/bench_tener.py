"""`luke-jax bench tener`."""

from rich.console import Console
from rich.table import Table

from luke_jax.bench.tener import Result
from luke_jax.bench.tener import run as measure
from luke_jax.cli.figures import write_figures
from luke_jax.cli.stderr import stderr_console
from luke_jax.files import Path, check_place

PARTS = ("training", "prediction")


def run(
  *,
  size: str = "tener-resume",
  train: Path | None = None,
  sentences: int = 512,
  batch: int = 16,
  rounds: int = 3,
  output: Path | None = None,
) -> None:
  """Times a TENER beside the same network in PyTorch, on one core.

  Both sides train for an epoch and then tag all sentences, in turns: with words and characters, the
  authors' SGD and a conditional random field. PyTorch's batches are padded to their longest
  sentence, and ours are those of `luke-jax train` and `luke-jax predict`. That both have the same
  logits and losses is checked first. Needs the extra `parity`.

      luke-jax bench tener --size tener-weibo

  Args:
    size: A named size, such as tener-resume.
    train: File of sentences with tags; by default they are made up.
    sentences: Number of sentences to make up.
    batch: Sentences of a batch.
    rounds: Number of times each side runs.
    output: File for the figures, as JSON.
  """
  if output:
    check_place(output)
  with stderr_console().status(f"timing {size}"):
    result = measure(size, train, sentences, batch, rounds, dropout=True)
  console = Console()
  console.print(_table(result))
  console.print(f"{result.machine}; {result.versions}", soft_wrap=True)
  rates = {part: result.rates(part) for part in PARTS}
  ratios = {part: getattr(result, part).ratio for part in PARTS}
  write_figures(result, {"ratio": ratios, "sentences_per_second": rates}, output)


def _table(result: Result) -> Table:
  title = (
    f"{result.size}, {result.sentences} sentences, {result.words} words, batches of {result.batch};"
    f" compiling the step took {result.compiling:.1f} s"
  )
  table = Table("sentences a second", "luke_jax", "PyTorch", "ratio", title=title)
  for part in PARTS:
    rates = [f"{rate:.1f}" for rate in result.rates(part).values()]
    table.add_row(part, *rates, f"{getattr(result, part).ratio:.2f}")
  return table
