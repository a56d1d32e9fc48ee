"""Benchmark of training TransE beside PyKEEN: triples of a graph in a second, negatives apart."""

import dataclasses
import functools
import statistics
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, Literal

import jax
import numpy as np
from rich.table import Table

from benchmarks.figures import print_figures
from benchmarks.roofline import WORK, Roofline, Speeds, needs, seconds, speeds
from benchmarks.sides import devices, share_gpu
from benchmarks.timing import Timing, alternate, one_core
from luke_jax.cli.process import stderr_console
from luke_jax.errors import InputError
from luke_jax.files import Path, check_place, cores_and_processor
from luke_jax.graph.triples import read_graph
from luke_jax.pipeline.batches import Data, TrainingBatches
from luke_jax.systems.transe import TransEConfig
from luke_jax.systems.transe.task import LinkPrediction
from luke_jax.training.experiment import Experiment, Run
from luke_jax.training.mesh import make_mesh
from luke_jax.training.optimizer import Optimizer
from luke_jax.training.program import Program

PARTS = {"step": "luke_jax, steps on rows in place", "host_rows": "luke_jax, rows alone"}
# Triples a second that published runs come to, with where they ran.
PUBLISHED = {
  "Fast-TransX, FB15k, width 50, 1 negative, 8 threads of an i7-6700K": 11.5e6,
  "DGL-KE, FB15k, width 400, 200 shared negatives, 48 cores": 0.17e6,
  "DGL-KE, the same, one V100": 0.12e6,
}
BATCH = 4096  # triples
PYKEEN_BATCH = 1024
CHUNK = 256


@dataclasses.dataclass(frozen=True)
class GraphTimes:
  """Times of an epoch on both sides; those of PyKEEN are missing where it is not installed."""

  machine: str
  triples: int  # in an epoch
  norm: int
  width: int
  negatives: int
  timing: Timing
  # Seconds of a step's two parts by round, by the wall clock: `step` and `host_rows`.
  parts: dict[str, list[float]]
  roofline: Roofline | None  # of a core; None where a GPU or TPU computes

  def rate(self, side: str) -> float | None:
    """Returns the triples in a second of side `ours` or `theirs`."""
    seconds = getattr(self.timing, side)
    return self.triples / statistics.median(seconds) if seconds else None


def made_up(folder: Path, entities: int, relations: int, triples: int) -> Path:
  """Writes a graph of drawn triples, in which some entities are frequent; returns its file."""
  rng = np.random.default_rng(0)
  ends = (entities * rng.random((2 * triples, 2)) ** 2).astype(int)
  drawn = np.stack([ends[:, 0], rng.integers(0, relations, len(ends)), ends[:, 1]], axis=1)
  rows = rng.permutation(np.unique(drawn, axis=0))[:triples]
  path = folder / "train.txt"
  path.write_text("".join(f"Q{h}\tP{r}\tQ{t}\n" for h, r, t in rows), encoding="utf-8")
  return path


def run(width: int, negatives: int, norm: Literal[1, 2], rounds: int) -> GraphTimes:
  """Times an epoch of a graph of CoDEx-S's size, in turn with PyKEEN if it is there.

  One core of the CPU makes the rows, and takes the steps too unless there is a GPU.
  """
  for name, number in (("width", width), ("negatives", negatives), ("rounds", rounds)):
    if number < 1:
      raise InputError(f"{name}: {number}; expected 1 or more")
  share_gpu()
  # Before JAX's first use, which starts its threads.
  with one_core(), tempfile.TemporaryDirectory() as folder:
    on_cpu = jax.default_backend() == "cpu"
    path = made_up(Path(folder), 2034, 42, 32_888)
    ours = our_side(path, TransEConfig(1, 1, width, norm), negatives)
    if find_spec("pykeen"):
      timing = alternate(ours.epoch, their_epoch(path, width, negatives, norm), rounds)
    else:
      timing = dataclasses.replace(alternate(ours.epoch, lambda: None, rounds), theirs=[])
    return GraphTimes(
      machine=cores_and_processor() if on_cpu else devices(),
      triples=ours.program.steps * BATCH,
      norm=norm,
      width=width,
      negatives=negatives,
      timing=timing,
      parts=ours.parts(rounds),
      roofline=ours.roofline(rounds) if on_cpu else None,
    )


@dataclasses.dataclass
class OurGraph:
  """Training of this library: whole epochs, and the two parts of them alone."""

  program: Program
  batches: TrainingBatches
  step: Any
  state: Any

  def epoch(self) -> None:
    """Trains for an epoch, rows included."""
    for rows in self.batches.iterate(0, self.program.steps, workers=0):
      self.state, _ = self.step(self.state, self.program.placed(rows))
    jax.block_until_ready(self.state)

  def host_rows(self) -> None:
    """Makes the rows of an epoch."""
    for number in range(self.program.steps):
      self.batches(number)

  def steps(self) -> None:
    """Takes the steps of an epoch on one batch that is in place."""
    for _ in range(self.program.steps):
      self.state, _ = self.step(self.state, self.placed)
    jax.block_until_ready(self.state)

  @functools.cached_property
  def placed(self) -> dict[str, jax.Array]:
    """Returns a batch in place."""
    return self.program.placed(self.batches(0))

  def parts(self, rounds: int) -> dict[str, list[float]]:
    """Times both parts of an epoch in turn; returns the seconds of one step."""
    timing = alternate(self.steps, self.host_rows, rounds)
    named = {"step": timing.ours, "host_rows": timing.theirs}
    return {name: [x / self.program.steps for x in seconds] for name, seconds in named.items()}

  def roofline(self, rounds: int) -> Roofline:
    """Times both parts in turn with what the machine can do."""
    config, steps = self.program.experiment.model, self.program.steps
    rows = (config.entity_vocab_size, config.relation_vocab_size)
    least = needs(self.program.batch_shapes, rows, config.hidden_size, config.norm)
    touched = sum(self.placed[name].size for name in ("heads", "tails", "negatives"))
    measure = speeds(rows[0], touched, config.hidden_size, config.norm)
    step, host_rows, measured = [], [], []
    for _ in range(rounds):
      step.append(seconds(self.steps) / steps)
      measured.append(measure())
      host_rows.append(seconds(self.host_rows) / steps)
    arithmetic, row_bytes = map(list, zip(*measured, strict=True))
    return Roofline(least, Speeds(arithmetic, row_bytes), step, host_rows)


def our_side(path: Path, sizes: TransEConfig, negatives: int) -> OurGraph:
  """Returns the training of a graph by this library, compiled."""
  graph = read_graph(path)
  model = dataclasses.replace(
    sizes, entity_vocab_size=len(graph.entities), relation_vocab_size=len(graph.relations)
  )
  experiment = Experiment(
    model=model,
    task=LinkPrediction(graph=str(path), chunk=CHUNK, negatives=negatives),
    data=Data(batch_size=BATCH // CHUNK),
    optimizer=Optimizer(learning_rate=1e-3, weight_decay=0.0, bias_correction=True),
    run=Run(steps=len(graph.splits["train"]) // BATCH),
  )
  program = Program(experiment, make_mesh(experiment.mesh), experiment.run.steps or 1)
  batches = program.training_batches(experiment.engine.records(program.backbone, "train"))
  return OurGraph(program, batches, program.step, program.fresh_state())


def their_epoch(path: Path, width: int, negatives: int, norm: int) -> Callable[[], None]:
  """Returns a function that trains PyKEEN's TransE for as many triples."""
  import torch
  from pykeen.losses import NSSALoss
  from pykeen.models import TransE
  from pykeen.training import SLCWATrainingLoop
  from pykeen.triples import CoreTriplesFactory

  graph = read_graph(path)
  count = len(graph.splits["train"]) // BATCH * BATCH
  triples = torch.tensor(graph.splits["train"][:count], dtype=torch.long)
  factory = CoreTriplesFactory(triples, len(graph.entities), len(graph.relations))
  model = TransE(
    triples_factory=factory, embedding_dim=width, scoring_fct_norm=norm, loss=NSSALoss()
  )
  drawing = {"num_negs_per_pos": negatives}

  def epoch() -> None:
    loop = SLCWATrainingLoop(
      model=model,
      triples_factory=factory,
      optimizer=torch.optim.Adam(model.parameters()),
      negative_sampler="basic",
      negative_sampler_kwargs=drawing,
    )
    loop.train(factory, num_epochs=1, batch_size=PYKEEN_BATCH, use_tqdm=False)

  return epoch


def main(
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

      python -m benchmarks graph --norm 2

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
    result = run(width, negatives, norm, rounds)
  report(result, output)


def report(result: GraphTimes, output: Path | None) -> None:
  """Prints the figures, and writes them to the output file."""
  tables = [_table(result)]
  if result.roofline:
    tables.append(_roofline(result.roofline, result.norm))
  theirs = result.rate("theirs")
  rates = {"luke_jax": result.rate("ours")} | ({"pykeen": theirs} if theirs else {})
  ratio = result.timing.ratio if theirs else None
  shares = result.roofline.shares if result.roofline else None
  summary = {"triples_per_second": rates, "ratio": ratio, "of_limit": shares}
  print_figures(result, summary, tables, f"{result.machine}; one core used", output=output)


def _table(result: GraphTimes) -> Table:
  title = f"L{result.norm}, width {result.width}, {result.negatives} negatives"
  table = Table("", "triples a second", title=title)
  table.add_row("luke_jax", f"{result.rate('ours'):,.0f}")
  if theirs := result.rate("theirs"):
    table.add_row("PyKEEN", f"{theirs:,.0f}")
  for part, times in result.parts.items():
    table.add_row(PARTS[part], f"{BATCH / statistics.median(times):,.0f}")
  for name, rate in PUBLISHED.items():
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
