"""Table of plans in docs/plan.md, a row for each step as soon as it is compiled."""

from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from benchmarks.cycles import StepCycles, counted
from luke_jax.cli.plan import PlannedStep
from luke_jax.plan.chips import GIB, parse_topology
from luke_jax.plan.compiling import OutOfMemory

EXPERIMENTS = Path(__file__).parents[1] / "experiments"
CHIPS_16 = ("v5e:4x4", "v5p:2x2x4", "v6e:4x4")
AWARE = "model.use_entity_aware_attention=true"
PRETRAINING = "data.batch_size=128", "data.evaluation_batch_size=128", "run.accumulation=1"
# For the length of epochs, the number of records would be needed.
FINE_TUNING = "run.epochs=null", "run.steps=1000"
TASKS = "entity_typing", "relations", "ner", "cloze", "qa"
PODS = (  # slice, batch, mesh.replica
  ("v5e:4x4", 128, 1),
  ("v5e:4x4", 128, 4),
  ("v5e:8x8", 512, 8),
  ("v5e:16x16", 2048, 16),
)

COLUMNS = (
  *("experiment", "slice", "changes", "batch", "GiB a chip", "ms", "utilization"),
  *("GiB sent", "ms", "ms alone"),
)
Row = tuple[str, str, tuple[str, ...]]  # experiment, slice, changes
ROWS: tuple[Row, ...] = (
  *(
    ("pretraining.py:luke-large", chips, (AWARE, f"data.batch_size={size}", f"mesh.replica={n}"))
    for chips, size, n in PODS
  ),
  *(
    (f"pretraining.py:luke-{size}", chips, PRETRAINING)
    for size in ("large", "base")
    for chips in CHIPS_16
  ),
  ("pretraining.py:mluke-large", "v5e:4x4", PRETRAINING),
  *((f"{task}.py:luke-large", "v5e:1x1", FINE_TUNING) for task in TASKS),
  ("ernie_thu.py:pretraining", "v5e:2x2", FINE_TUNING),
  ("graph.py:wikidata", "v5e:1x1", ()),
)


def cells(step: PlannedStep, result: StepCycles) -> list[str]:
  """Returns the figures of a plan."""
  plan = result.plan
  sent = sum(row.bytes for row in plan.collectives) / GIB
  return [
    f"{step.experiment.data.batch_size:,}",
    f"{plan.memory.total / GIB:.1f}",
    f"{result.seconds * 1e3:.1f}",
    f"{result.utilization(result.seconds):.0%}",
    f"{sent:.2f}",
    f"{plan.collective_seconds * 1e3:.1f}",
    f"{plan.alone_seconds * 1e3:.1f}",
  ]


def main(words: Annotated[tuple[str, ...], Positional, arg(metavar="WORD")] = (), /) -> None:
  """Compiles and prints the table of plans in docs/plan.md.

  A row takes one to five minutes on two cores; needs the extra `tpu`, and no data.

      python -m benchmarks plans mesh.replica

  Args:
    words: Prints only the rows whose experiment, slice or changes have one of them.
  """
  print("|", " | ".join(COLUMNS), "|")
  print("|---" * len(COLUMNS) + "|", flush=True)
  for file, chips, changes in ROWS:
    if words and not any(word in f"{file} {chips} {changes}" for word in words):
      continue
    step = PlannedStep(EXPERIMENTS / file, changes, parse_topology(chips))
    result = counted(step)
    fits = not isinstance(result, OutOfMemory)
    figures = cells(step, result) if fits else [step.advice(result)]
    changed = " ".join(x for x in changes if x not in (*PRETRAINING, *FINE_TUNING))
    print("|", " | ".join([file, chips, changed, *figures]), "|", flush=True)
