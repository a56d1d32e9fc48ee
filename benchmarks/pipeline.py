"""Benchmark of the input pipeline: batches per second, and the time steps wait for them."""

import dataclasses
import functools
import itertools
import statistics
import sys
import tempfile
import time
from typing import Annotated

import numpy as np
from rich.table import Table
from tyro.conf import Positional, arg

from benchmarks.figures import print_figures
from benchmarks.timing import one_core
from luke_jax.errors import InputError
from luke_jax.files import Path, check_place, cores_and_processor
from luke_jax.models.system import Backbone
from luke_jax.nn.losses import IGNORED
from luke_jax.pipeline.batches import TrainingBatches
from luke_jax.pipeline.metadata import read_metadata
from luke_jax.pipeline.rows import read_words
from luke_jax.systems.ernie_baidu import ErnieBaiduConfig
from luke_jax.systems.ernie_baidu.pretraining import UnitPretraining
from luke_jax.systems.ernie_baidu.units import count_levels, read_units, unit_blocks
from luke_jax.systems.luke import LukeConfig
from luke_jax.tasks.pretraining import Pretraining
from luke_jax.training.task import Task

_SPECIAL = ("[PAD]", "[CLS]", "[SEP]", "[MASK]", "[UNK]")
_BLOCKS = 200  # of a file's lines, about 50 MB
UNMEASURED = 4  # first batches, during which files are opened and workers start


@dataclasses.dataclass(frozen=True)
class PipelineTimes:
  """Measurements of one run."""

  machine: str
  records: int
  batch_size: int
  tokens: float  # words of a batch without padding, on average
  masked: float  # words of a batch that are to be predicted, on average
  seconds: list[float]  # to make a batch on one core, by round
  core_share: float  # of that time, in which this process had the core, beside others
  step_ms: float
  workers: int
  waiting: float  # share of the time that steps wait for batches that workers make ahead
  lines_per_second: float | None  # of a file of units that is parsed for the first time

  @property
  def per_second(self) -> dict[str, float]:
    """Returns words, records and masked words per second on one core, the medians over rounds."""
    median = statistics.median(self.seconds)
    sizes = {"tokens": self.tokens, "records": self.batch_size, "masked": self.masked}
    return {f"{name}_per_second": size / median for name, size in sizes.items()}


def run(
  source: Path, *, batch_size: int, batches: int, rounds: int, step_ms: float, workers: int
) -> PipelineTimes:
  """Times making batches on one core, and then how long steps wait for batches made ahead.

  The source is a folder of records, or a file of instances with units.
  """
  _check(step_ms, batch_size=batch_size, batches=batches, rounds=rounds, workers=workers)
  with tempfile.TemporaryDirectory() as folder:
    is_units = source.is_file()
    if is_units:
      made = unit_batches(source, Path(folder), batch_size)
    else:
      made = training_batches(source, batch_size)
    with one_core():
      rows = [made(number) for number in range(UNMEASURED)]
      start, had = time.perf_counter(), time.process_time()
      seconds = [_seconds_a_batch(made, batches * number, batches) for number in range(rounds)]
      share = (time.process_time() - had) / (time.perf_counter() - start)
      lines = _lines_per_second(str(source)) if is_units else None
    return PipelineTimes(
      machine=cores_and_processor(),
      records=len(made.records),
      batch_size=batch_size,
      tokens=float(np.mean([row["attention_mask"].sum() for row in rows])),
      masked=float(np.mean([(row["labels"] != IGNORED).sum() for row in rows])),
      seconds=seconds,
      core_share=share,
      step_ms=step_ms,
      workers=workers,
      waiting=_waiting(made, batches, step_ms, workers),
      lines_per_second=lines,
    )


def _check(step_ms: float, **sizes: int) -> None:
  for name, value in sizes.items():
    if value < (least := 0 if name == "workers" else 1):
      raise InputError(f"{name}: {value}; expected {least} or more")
  if not 0 < step_ms < 1e6:
    raise InputError(f"step_ms: {step_ms}; expected milliseconds above 0")


def _batches_of(task: Task, backbone: Backbone, size: int) -> TrainingBatches:
  """Returns the batches of a task's records."""
  make_rows = functools.partial(task.rows, backbone)
  records = task.records(backbone, "train")
  return TrainingBatches(records, make_rows, 0, size, 1, np.arange(size))


def training_batches(folder: Path, batch_size: int) -> TrainingBatches:
  """Returns the batches of a folder's records, with the sizes of its metadata."""
  metadata = read_metadata(folder)
  special = read_words(str(folder)).special
  config = LukeConfig(
    vocab_size=metadata.vocab_size,
    entity_vocab_size=metadata.entity_vocab_size,
    max_position_embeddings=metadata.max_words + special.pad + 1,
    pad_token_id=special.pad,
    bos_token_id=special.start,
    eos_token_id=special.end,
  )
  sizes = (metadata.max_words, metadata.max_entities, metadata.max_mention)
  task = Pretraining((str(folder),), *sizes)
  return _batches_of(task, Backbone(config), batch_size)


def unit_batches(path: Path, folder: Path, batch_size: int) -> TrainingBatches:
  """Returns the batches of a file of units; a vocabulary of special tokens gets into the folder."""
  (folder / "vocab.txt").write_text("\n".join(_SPECIAL), encoding="utf-8")
  levels = tuple(map(str, range(count_levels(str(path)))))
  longest, highest = read_units(str(path), len(levels)).sizes
  words = max(longest, 8)
  task = UnitPretraining(files=(str(path),), text=str(folder), levels=levels, words=words)
  config = ErnieBaiduConfig(vocab_size=highest + 1, max_position_embeddings=words)
  return _batches_of(task, Backbone(config), batch_size)


def _lines_per_second(path: str) -> float:
  """Returns the number of a file's first lines that are parsed in a second."""
  blocks = unit_blocks(path, count_levels(path))
  start = time.perf_counter()
  lines = sum(len(block.lengths) for block in itertools.islice(blocks, _BLOCKS))
  return lines / (time.perf_counter() - start)


def _seconds_a_batch(source: TrainingBatches, first: int, count: int) -> float:
  start = time.perf_counter()
  for number in range(first, first + count):
    source(number)
  return (time.perf_counter() - start) / count


def _waiting(source: TrainingBatches, count: int, step_ms: float, workers: int) -> float:
  ahead = source.iterate(0, UNMEASURED + count, workers)
  for _ in range(UNMEASURED):
    next(ahead)
    time.sleep(step_ms / 1e3)
  waited, start = 0.0, time.perf_counter()
  for _ in range(count):
    requested = time.perf_counter()
    next(ahead)
    waited += time.perf_counter() - requested
    time.sleep(step_ms / 1e3)
  share = waited / (time.perf_counter() - start)
  for _ in ahead:  # reads to the end, which is what stops the workers
    pass
  return share


def main(
  source: Annotated[Path, Positional, arg(metavar="FOLDER|FILE")],
  /,
  *,
  batch_size: int = 32,
  batches: int = 50,
  rounds: int = 5,
  step_ms: float = 100.0,
  workers: int = 0,
  output: Path | None = None,
) -> None:
  """Times how stored records, or instances with units, become batches: read, masked, padded.

  Batches are made on one core first, one after another; then ahead, as in a run, for steps that
  only sleep: the share of the time that they wait is the cost of batches in a run.

      python -m benchmarks pipeline enwiki/pretraining --step-ms 200 --workers 2
      python -m benchmarks pipeline wiki.gz --batch-size 128 --workers 2

  Args:
    source: Folder of records that `luke-jax wiki build` wrote, or a file of `luke-jax data units`.
    batch_size: Records in a batch.
    batches: Number of batches in a round.
    rounds: Number of rounds on one core.
    step_ms: Milliseconds of a step.
    workers: Processes that make batches ahead; 0 for threads.
    output: File for the figures, as JSON.
  """
  if output:
    check_place(output)
  print(f"timing {rounds} x {batches} batches of {source}", file=sys.stderr)
  sizes = {"batch_size": batch_size, "batches": batches, "rounds": rounds}
  result = run(source, **sizes, step_ms=step_ms, workers=workers)
  print_figures(
    result,
    {**result.per_second, "waiting": result.waiting},
    [_table(result)],
    result.machine,
    output=output,
  )


def _table(result: PipelineTimes) -> Table:
  table = Table("", "", title=f"batches of {result.batch_size} of {result.records:,} records")
  rows = {"word tokens": "tokens", "records": "records", "masked words": "masked"}
  for what, name in rows.items():
    rate = result.per_second[f"{name}_per_second"]
    table.add_row(f"{what} a second, one core", f"{rate:,.0f}")
  table.add_row("share of the core that this had", f"{result.core_share:.0%}")
  if result.lines_per_second:
    table.add_row("lines a second, the first time", f"{result.lines_per_second:,.0f}")
  table.add_row("word tokens a batch", f"{result.tokens:,.0f}")
  made = f"{result.workers} workers" if result.workers else "threads"
  table.add_row(f"waiting, steps of {result.step_ms:g} ms, {made}", f"{result.waiting:.1%}")
  return table
