"""`luke-jax bench` of data: `text`, `wiki` and `pipeline`."""

import sys
from typing import TYPE_CHECKING, Annotated

from rich.table import Table
from tyro.conf import Positional, arg

from luke_jax.bench import text, wiki
from luke_jax.cli.printing import print_figures, stderr_console
from luke_jax.files import Path, check_place

if TYPE_CHECKING:
  from luke_jax.bench import pipeline


def bench_text(
  directory: Annotated[Path, Positional, arg(metavar="DIRECTORY")],
  /,
  *,
  texts: Path | None = None,
  rounds: int = 5,
  output: Path | None = None,
) -> None:
  """Times the step from texts to inputs against transformers' LUKE tokenizer.

  Same vocabulary, texts and entity spans on both sides, which take turns on one core; that their
  inputs are equal is checked first. The tokenizer of transformers 4 is the slow one, in Python.

      luke-jax bench text luke-base --texts paragraphs.txt

  Args:
    directory: Directory with a tokenizer of RoBERTa's kind, such as a model's.
    texts: Text file, one text a line; without it, texts are made up of the vocabulary's words.
    rounds: Number of times each side runs.
    output: File for the figures, as JSON.
  """
  if output:
    check_place(output)
  read = text.read_texts(texts) if texts else None
  with stderr_console().status(f"timing {directory}"):
    result = text.run(directory, read, rounds)
  summary = {"ratio": result.timing.ratio, "texts_per_second": result.texts_per_second}
  print_figures(
    result, summary, [_text_table(result)], f"{result.machine}; {result.versions}", output=output
  )


def _text_table(result: text.TextTimes) -> Table:
  title = f"{result.texts} texts of {result.characters:.0f} characters, {text.SPANS} spans each"
  table = Table("", "luke_jax", "transformers", "ratio", title=title)
  rates = [f"{rate:,.0f}" for rate in result.texts_per_second.values()]
  table.add_row("texts a second", *rates, f"{result.timing.ratio:.2f}")
  return table


def bench_wiki(
  dump: Annotated[Path, Positional, arg(metavar="DUMP")],
  /,
  *,
  tokenizer: Path,
  entities: int = 4,
  output: Path | None = None,
) -> None:
  """Times all stages from a dump to training records, on one core.

      luke-jax bench wiki enwiki-part.xml.bz2 --tokenizer roberta

  Args:
    dump: Dump of a wiki's pages, .xml or that as .bz2, .gz, .xz or .zst.
    tokenizer: Directory with a tokenizer.
    entities: Size of the entity vocabulary, on which the time hardly depends.
    output: File for the figures, as JSON.
  """
  if output:
    check_place(output)
  result = wiki.run(dump, tokenizer, entities)
  summary = {
    "megabytes_per_second": result.megabytes_per_second,
    "megabytes_per_processor_second": result.megabytes_per_processor_second,
    "peak_megabytes": result.peak_megabytes,
  }
  print_figures(
    result,
    summary,
    [_wiki_table(result)],
    f"{result.machine}; {result.records:,} records, {result.peak_megabytes:.0f} MB of memory",
    output=output,
  )


def _wiki_table(result: wiki.WikiTimes) -> Table:
  table = Table("stage", "seconds", "MB/s", title=f"{result.megabytes:.1f} MB of XML")
  rest = result.seconds - sum(result.stages.values())
  for name, seconds in {**result.stages, "the rest": rest}.items():
    table.add_row(name, f"{seconds:.2f}", f"{result.megabytes / seconds:.1f}")
  total = (f"{result.seconds:.2f}", f"{result.megabytes_per_second:.2f}")
  table.add_row("in all", *total, style="bold")
  return table


def bench_pipeline(
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

      luke-jax bench pipeline enwiki/pretraining --step-ms 200 --workers 2
      luke-jax bench pipeline wiki.gz --batch-size 128 --workers 2

  Args:
    source: Folder of records that `luke-jax wiki build` wrote, or a file of `luke-jax data units`.
    batch_size: Records in a batch.
    batches: Number of batches in a round.
    rounds: Number of rounds on one core.
    step_ms: Milliseconds of a step.
    workers: Processes that make batches ahead; 0 for threads.
    output: File for the figures, as JSON.
  """
  from luke_jax.bench import pipeline  # needs JAX, which the others do not

  if output:
    check_place(output)
  print(f"timing {rounds} x {batches} batches of {source}", file=sys.stderr)
  sizes = {"batch_size": batch_size, "batches": batches, "rounds": rounds}
  result = pipeline.run(source, **sizes, step_ms=step_ms, workers=workers)
  print_figures(
    result,
    {**result.per_second, "waiting": result.waiting},
    [_pipeline_table(result)],
    result.machine,
    output=output,
  )


def _pipeline_table(result: "pipeline.PipelineTimes") -> Table:
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
