"""Benchmark of building training records from a dump, on one core."""

import dataclasses
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import Annotated

from rich.table import Table
from tyro.conf import Positional, arg

from benchmarks.figures import print_figures
from benchmarks.timing import one_core
from luke_jax.files import Path, check_place, cores_and_processor
from luke_jax.wiki.read.dump_files import chunks
from luke_jax.wiki.stages.build import RESULT, build
from luke_jax.wiki.stages.engines import local
from luke_jax.wiki.stages.sources import Settings
from luke_jax.wiki.stages.stage import MakeShard
from luke_jax.wiki.stages.vocabulary_stage import Selection


@dataclasses.dataclass(frozen=True)
class WikiTimes:
  """Measurements of one run."""

  machine: str
  megabytes: float  # of XML
  seconds: float  # in total
  processor_seconds: float  # of this process, which depends less on others on the machine
  stages: dict[str, float]  # seconds of each
  records: int
  peak_megabytes: float  # of memory, including Python and its libraries

  @property
  def megabytes_per_second(self) -> float:
    """Returns the megabytes of XML per second, over all stages."""
    return self.megabytes / self.seconds

  @property
  def megabytes_per_processor_second(self) -> float:
    """Returns the megabytes of XML per second of processor time."""
    return self.megabytes / self.processor_seconds


def run(dump: Path, tokenizer: Path, entities: int) -> WikiTimes:
  """Times every stage of a build into a temporary folder."""
  settings = Settings((dump,), tokenizer, selection=Selection(entities))
  stages: dict[str, float] = {}
  with one_core(), tempfile.TemporaryDirectory() as folder, local(1) as engine:

    def timed(run: Callable[[int], None], shards: Sequence[int]) -> None:
      start = time.perf_counter()
      engine(run, shards)
      name = run.stage.name if isinstance(run, MakeShard) else "other"
      stages[name] = time.perf_counter() - start

    start, processor_start = time.perf_counter(), time.process_time()
    result = build(settings, Path(folder), timed)
    seconds, processor_seconds = (
      time.perf_counter() - start,
      time.process_time() - processor_start,
    )
    machine = cores_and_processor()
  return WikiTimes(
    machine=machine,
    megabytes=_size(dump) / 1e6,
    seconds=seconds,
    processor_seconds=processor_seconds,
    stages=stages,
    records=result.stages[RESULT].counts["records"],
    peak_megabytes=_peak() / 1e6,
  )


def _size(dump: Path) -> int:
  """Returns the bytes of XML in a dump."""
  return sum(len(data) for data, _ in chunks(dump, 0, dump.stat().st_size))


def _peak() -> int:
  peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
  return peak if sys.platform == "darwin" else peak * 1024


def main(
  dump: Annotated[Path, Positional, arg(metavar="DUMP")],
  /,
  *,
  tokenizer: Path,
  entities: int = 4,
  output: Path | None = None,
) -> None:
  """Times all stages from a dump to training records, on one core.

      python -m benchmarks wiki enwiki-part.xml.bz2 --tokenizer roberta

  Args:
    dump: Dump of a wiki's pages, .xml or that as .bz2, .gz, .xz or .zst.
    tokenizer: Directory with a tokenizer.
    entities: Size of the entity vocabulary, on which the time hardly depends.
    output: File for the figures, as JSON.
  """
  if output:
    check_place(output)
  result = run(dump, tokenizer, entities)
  summary = {
    "megabytes_per_second": result.megabytes_per_second,
    "megabytes_per_processor_second": result.megabytes_per_processor_second,
    "peak_megabytes": result.peak_megabytes,
  }
  print_figures(
    result,
    summary,
    [_table(result)],
    f"{result.machine}; {result.records:,} records, {result.peak_megabytes:.0f} MB of memory",
    output=output,
  )


def _table(result: WikiTimes) -> Table:
  table = Table("stage", "seconds", "MB/s", title=f"{result.megabytes:.1f} MB of XML")
  rest = result.seconds - sum(result.stages.values())
  for name, seconds in {**result.stages, "the rest": rest}.items():
    table.add_row(name, f"{seconds:.2f}", f"{result.megabytes / seconds:.1f}")
  total = (f"{result.seconds:.2f}", f"{result.megabytes_per_second:.2f}")
  table.add_row("in all", *total, style="bold")
  return table
