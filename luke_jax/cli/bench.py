"""`luke-jax bench` of models: `encoder`, `step`, `ner`, `tener`, `engine` and `graph`."""

import statistics
import sys
from typing import Annotated, Literal

from rich.table import Table
from tyro.conf import Positional, UseAppendAction, arg

from luke_jax.bench import encoder, engine, graph, ner, step, tener
from luke_jax.bench.roofline import WORK, Roofline
from luke_jax.cli.printing import print_figures, stderr_console
from luke_jax.files import Path, check_place
from luke_jax.nn.layers import Dtype
from luke_jax.runs.recipes import read_experiment

BATCHES = "1x64+8,4x128+32,2x256+32,1x512+128"


def bench_encoder(
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
  some = encoder.batches(batch)
  with stderr_console().status(f"timing {size}"):
    result = encoder.run(size, some, dtype, rounds)
  ratios = {f"{x.batch} {x.name}": x.timing.ratio for x in result.passes}
  print_figures(
    result,
    {"ratios": ratios, "peak_flops": result.peak_flops},
    [_encoder_table(result)],
    f"{result.machine}; {result.versions}",
    output=output,
  )


def _encoder_table(result: encoder.EncoderTimes) -> Table:
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


def bench_step(
  experiment: Annotated[Path, Positional, arg(metavar="EXPERIMENT")],
  /,
  *,
  set: UseAppendAction[tuple[str, ...]] = (),
  steps: int = 10,
  rounds: int = 3,
  output: Path | None = None,
) -> None:
  """Times an experiment's training step alone, on the devices of this machine.

  The step that `luke-jax train` compiles runs on the experiment's first batch, from fresh
  parameters: nothing is read from `run.start`, and nothing is saved. Its share of the speed of a
  square matrix product and, on GPUs and TPUs, its memory are shown.

      luke-jax bench step experiments/synthetic.py:luke-large --set data.batch_size=16

  Args:
    experiment: Experiment file, FILE.py, or a row of one, FILE.py:ROW.
    set: A field by its dotted name and its value, as often as needed.
    steps: Number of steps in a round.
    rounds: Number of rounds.
    output: File for the figures, as JSON.
  """
  if output:
    check_place(output)
  chosen = read_experiment(experiment, set)
  with stderr_console().status(f"timing {experiment}"):
    result = step.run(chosen, steps, rounds)
  summary = {
    "step_ms": 1e3 * statistics.median(result.step),
    "tokens_per_second": result.tokens / statistics.median(result.step),
    "flops_per_second": result.flops_per_second,
    "of_product": result.of_product,
    "peak_gib": result.peak_bytes and result.peak_bytes / 2**30,
  }
  print_figures(
    result,
    summary,
    [_step_table(result, str(experiment))],
    f"{result.machine}; {result.versions}",
    output=output,
  )


def _step_table(result: step.StepTimes, name: str) -> Table:
  seconds = statistics.median(result.step)
  table = Table("one step", "", title=f"{name}, {result.dtype}, {result.devices} x")
  table.add_row("time", f"{1e3 * seconds:,.1f} ms")
  table.add_row("sequences a second", f"{result.sequences / seconds:,.1f}")
  table.add_row("words and entities a second", f"{result.tokens / seconds:,.0f}")
  table.add_row("TFLOP/s of a device", f"{result.flops_per_second / 1e12:,.2f}")
  table.add_row("of a square product's speed", f"{result.of_product:.0%}")
  table.add_row("compiling", f"{result.compiling:.1f} s")
  if result.peak_bytes:
    table.add_row("memory at most", f"{result.peak_bytes / 2**30:.1f} GiB")
  return table


def bench_ner(
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
    result = ner.run(directory, size, dtype, documents, rounds)
  rates = result.sentences_per_second
  counts = {"entities": result.entities, "different": result.different}
  summary = {"ratio": result.timing.ratio, "sentences_per_second": rates, **counts}
  print_figures(
    result, summary, [_ner_table(result)], f"{result.machine}; {result.versions}", output=output
  )


def _ner_table(result: ner.NerTimes) -> Table:
  title = (
    f"{result.size}, {result.dtype}, {result.documents} documents: {result.sentences} sentences,"
    f" {result.words} words, {result.spans} spans; batches of {ner.BATCH}"
  )
  table = Table("", "luke_jax", "transformers", "ratio", title=title)
  rates = [f"{rate:.2f}" for rate in result.sentences_per_second.values()]
  table.add_row("sentences a second", *rates, f"{result.timing.ratio:.2f}")
  return table


TENER_PARTS = ("training", "prediction")


def bench_tener(
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
    result = tener.run(size, train, sentences, batch, rounds, dropout=True)
  rates = {part: result.rates(part) for part in TENER_PARTS}
  ratios = {part: getattr(result, part).ratio for part in TENER_PARTS}
  print_figures(
    result,
    {"ratio": ratios, "sentences_per_second": rates},
    [_tener_table(result)],
    f"{result.machine}; {result.versions}",
    output=output,
  )


def _tener_table(result: tener.TenerTimes) -> Table:
  title = (
    f"{result.size}, {result.sentences} sentences, {result.words} words, batches of {result.batch};"
    f" compiling the step took {result.compiling:.1f} s"
  )
  table = Table("sentences a second", "luke_jax", "PyTorch", "ratio", title=title)
  for part in TENER_PARTS:
    rates = [f"{rate:.1f}" for rate in result.rates(part).values()]
    table.add_row(part, *rates, f"{getattr(result, part).ratio:.2f}")
  return table


def bench_engine(*, steps: int = 1000, rounds: int = 3, output: Path | None = None) -> None:
  """Times what a training run spends between its steps.

  Trains a tiny model as `luke-jax train` does and takes the same compiled step bare, in turn. The
  difference is the cost of batches, their placing, dispatch, logging and the progress line.

      luke-jax bench engine --steps 1000

  Args:
    steps: Number of steps in a round.
    rounds: Number of times each side runs.
    output: File for the figures, as JSON.
  """
  if output:
    check_place(output)
  print(f"timing {rounds} x {steps} steps in the loop and bare", file=sys.stderr)
  result = engine.run(steps, rounds)
  summary = {"overhead_ms": result.overhead}
  print_figures(
    result,
    summary,
    [_engine_table(result)],
    f"{result.machine}; {result.device}; {result.versions}",
    output=output,
  )


def _engine_table(result: engine.EngineTimes) -> Table:
  table = Table("", "median", "least", "most", title=f"ms a step, {result.steps} steps a round")
  for name, times in (
    ("in the loop", result.loop),
    ("of that, waiting for data", result.waiting),
    ("bare", result.bare),
  ):
    table.add_row(name, *(f"{f(times):.2f}" for f in (statistics.median, min, max)))
  table.add_row("between the steps", f"{result.overhead:.2f}", "", "")
  return table


GRAPH_PARTS = {"step": "luke_jax, steps on rows in place", "host_rows": "luke_jax, rows alone"}


def bench_graph(
  *,
  width: int = 100,
  negatives: int = 32,
  norm: Literal[1, 2] = 1,
  rounds: int = 3,
  output: Path | None = None,
) -> None:
  """Times the training of TransE on one core, in turn with PyKEEN where that is installed.

  An epoch of a made-up graph of CoDEx-S's size, with the rows that the host makes. A triple has as
  many negatives on both sides; here the triples of a chunk share them and known ones are left out.
  A second table has what a step needs at least, at the speed that this core has for it, beside the
  time that the step takes; where a GPU takes the steps, which a core still feeds, there is none.

      luke-jax bench graph --norm 2

  Args:
    width: Width of a vector.
    negatives: Number of negatives of a triple.
    norm: Norm of the distance.
    rounds: Number of times each side runs.
    output: File for the figures, as JSON.
  """
  if output:
    check_place(output)
  with stderr_console().status("timing epochs"):
    result = graph.run(width, negatives, norm, rounds)
  report_graph(result, output)


def report_graph(result: graph.GraphTimes, output: Path | None) -> None:
  """Prints the figures, and writes them to the output file."""
  tables = [_graph_table(result)]
  if result.roofline:
    tables.append(_roofline(result.roofline, result.norm))
  theirs = result.rate("theirs")
  rates = {"luke_jax": result.rate("ours")} | ({"pykeen": theirs} if theirs else {})
  ratio = result.timing.ratio if theirs else None
  shares = result.roofline.shares if result.roofline else None
  summary = {"triples_per_second": rates, "ratio": ratio, "of_limit": shares}
  print_figures(result, summary, tables, f"{result.machine}; one core used", output=output)


def _graph_table(result: graph.GraphTimes) -> Table:
  title = f"L{result.norm}, width {result.width}, {result.negatives} negatives"
  table = Table("", "triples a second", title=title)
  table.add_row("luke_jax", f"{result.rate('ours'):,.0f}")
  if theirs := result.rate("theirs"):
    table.add_row("PyKEEN", f"{theirs:,.0f}")
  for part, seconds in result.parts.items():
    table.add_row(GRAPH_PARTS[part], f"{graph.BATCH / statistics.median(seconds):,.0f}")
  for name, rate in graph.PUBLISHED.items():
    table.add_row(f"published: {name}", f"{rate:,.0f}")
  return table


def _roofline(line: Roofline, norm: int) -> Table:
  table = Table("of one step", "at least", "this core", "ms", title="What bounds a step")
  for column in table.columns[1:]:
    column.justify = "right"
  for part, name, unit in (
    ("arithmetic", WORK[norm], ""),
    ("row_bytes", "rows and moments, read and written", "B"),
  ):
    amount, speed = getattr(line.needs, part), statistics.median(getattr(line.speeds, part))
    row = (_short(amount) + unit, _short(speed) + unit + "/s", f"{1e3 * line.least[part]:.2f}")
    table.add_row(name, *row)
  least, shares = 1e3 * sum(line.least.values()), line.shares
  table.add_row("the limit", "", "", f"{least:.2f}", style="bold")
  step, rows = (1e3 * statistics.median(x) for x in (line.step, line.host_rows))
  table.add_row("the step", f"{shares['step']:.0%} of the limit", "", f"{step:.2f}")
  share = f"{shares['step_and_host_rows']:.0%} of the limit"
  table.add_row("rows made on the host", "", "", f"{rows:.2f}")
  table.add_row("both", share, "", f"{step + rows:.2f}")
  return table


def _short(number: float) -> str:
  """Returns a number in thousands, millions or billions, such as 1.6 G."""
  for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
    if number >= size:
      return f"{number / size:.1f} {letter}"
  return f"{number:.0f} "
