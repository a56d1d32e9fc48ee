"""`luke-jax bench encoder`."""

from rich.console import Console
from rich.table import Table

from luke_jax.bench.encoder import Result, batches
from luke_jax.bench.encoder import run as measure
from luke_jax.cli.figures import write_figures
from luke_jax.cli.stderr import stderr_console
from luke_jax.files import Path, check_place
from luke_jax.nn.layers import Dtype

BATCHES = "1x64+8,4x128+32,2x256+32,1x512+128"


def run(
  *,
  size: str = "luke-base",
  batch: str = BATCHES,
  dtype: Dtype = "float32",
  rounds: int = 7,
  output: Path | None = None,
) -> None:
  """Times the encoder against transformers, side by side.

  Same weights, batches and type of products on both sides, taking turns; compilation is not
  counted. On a GPU both multiply float32 in TF32, as JAX does by default. Needs the extra `parity`.

      luke-jax bench encoder --batch 8x256+32 --dtype bfloat16

  Args:
    size: A named size, such as luke-base.
    batch: Texts, words of each and entities of each, as 4x128+32; several with commas between.
    dtype: Type of products.
    rounds: Number of times each side runs.
    output: File for the figures, as JSON.
  """
  if output:
    check_place(output)
  some = batches(batch)
  with stderr_console().status(f"timing {size}"):
    result = measure(size, some, dtype, rounds)
  console = Console()
  console.print(_table(result))
  console.print(f"{result.machine}; {result.versions}", soft_wrap=True)
  ratios = {f"{x.batch} {x.name}": x.timing.ratio for x in result.passes}
  write_figures(result, {"ratios": ratios, "peak_flops": result.peak_flops}, output)


def _table(result: Result) -> Table:
  names = ("luke_jax", "transformers", "ratio", "of peak", "theirs")
  table = Table("batch", "pass", *names, title=f"{result.size}, {result.dtype}")
  for measured in result.passes:
    timing = measured.timing
    seconds = [timing.median(side) for side in ("ours", "theirs")]
    peaks = result.peak_flops.values()
    shares = [measured.flops / x / peak for x, peak in zip(seconds, peaks, strict=True)]
    table.add_row(
      str(measured.batch),
      measured.name,
      *(f"{x:.3f} s" if x >= 0.1 else f"{1e3 * x:.1f} ms" for x in seconds),
      f"{timing.ratio:.2f}",
      *(f"{share:.0%}" for share in shares),
    )
  peaks = [f"{flops / 1e9:.0f} GFLOP/s" for flops in result.peak_flops.values()]
  table.add_row("", "one product", *peaks, f"{result.peak.ratio:.2f}", "", "")
  return table
