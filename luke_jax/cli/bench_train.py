"""`luke-jax bench train`."""

import sys

import numpy as np
from rich.table import Table

from luke_jax.bench import train
from luke_jax.bench.encoder import BatchSizes, batches
from luke_jax.cli.printing import print_figures, stderr_console
from luke_jax.errors import InputError
from luke_jax.files import Path, check_place
from luke_jax.models.system import System
from luke_jax.models.table import SIZES
from luke_jax.nn.layers import Dtype
from luke_jax.runs.recipes import RANK, made_up_experiment
from luke_jax.tasks.classification.task import TextClassification
from luke_jax.tasks.ner.task import NIL, NamedEntities
from luke_jax.text.entity_vocab import SPECIAL_ENTITIES
from luke_jax.training.experiment import Experiment

BATCHES = {False: "16x64,16x128,32x32", True: "4x128+32"}  # by whether there are entities
LABELS = (NIL, "LOC", "MISC", "ORG", "PER")
EXAMPLES = 200  # of a training, whose settings the steps have


def bench_train(
  *,
  size: str = "minilm",
  batch: str = "",
  dtype: Dtype = "float32",
  rounds: int = 7,
  output: Path | None = None,
) -> None:
  """Times steps of fine-tuning beside PyTorch with transformers, of all parameters and of adapters.

  The step that `luke-jax train` compiles, of labels for texts or, with entities, for spans. Same
  weights, batches, dropout and type of products on both sides, AdamW and clipping of gradients as
  well, taking turns; compilation is not counted. Adapters are peft's LoRA of the same rank, beside
  the same kernels; without peft they are left out. Needs the extra `parity`.

      luke-jax bench train --size luke-base --batch 4x128+32

  Args:
    size: A named size, such as minilm or luke-base.
    batch: Texts and words of each, and entities of each for LUKE, as 16x64 or 4x128+32; several
      with commas between. By default 16x64,16x128,32x32, and 4x128+32 for LUKE.
    dtype: Type of products.
    rounds: Number of times each side runs.
    output: File for the figures, as JSON.
  """
  if output:
    check_place(output)
  if size not in SIZES:
    raise InputError(f"{size}: unknown size; expected one of {', '.join(SIZES)}")
  config = SIZES[size]
  entities = config.decoders.entities > 0
  some = batches(batch or BATCHES[entities], entities=entities)
  chosen = [
    (one, steps_of(config, one, f"optimizer.adapter={rank}", f"running.dtype={dtype}"))
    for rank in (0, RANK)
    for one in some
  ]
  with stderr_console().status(f"timing {size}"):
    result = train.run(size, chosen, rounds)
  for package in result.left_out:
    print(f"adapters are left out: {package} is not installed", file=sys.stderr)
  print_figures(
    result,
    {"ratios": {f"{x.batch} {_trained(x)}": x.timing.ratio for x in result.steps}},
    [_table(result)],
    f"{result.machine}; {result.versions}",
    output=output,
  )


def steps_of(config: System, batch: BatchSizes, *changes: str) -> Experiment:
  """Returns an experiment with the settings that a training on a few hundred examples has."""
  if batch.words > config.room_for_words:
    raise InputError(f"batch: {batch}; expected at most {config.room_for_words} words")
  task = TextClassification(labels=LABELS, words=batch.words)
  if batch.entities:
    config = config.with_entities(len(SPECIAL_ENTITIES), SPECIAL_ENTITIES.pad_id)
    task = NamedEntities(labels=LABELS, words=batch.words, entities=batch.entities)
  lengths = np.linspace(batch.words / 4, batch.words, EXAMPLES).astype(int)
  changes += (f"data.batch_size={batch.sequences}",)
  # A rate from the first step on, as PyTorch's side has.
  changes += ("schedule.warmup_ratio=0", "schedule.decay=constant")
  return made_up_experiment(config, task, lengths, changes)


def _trained(step: train.StepOfBoth) -> str:
  return f"adapters of rank {step.adapter}" if step.adapter else "all parameters"


def _table(result: train.TrainTimes) -> Table:
  title = f"a step of {result.size}, {result.dtype}: seconds of luke_jax and PyTorch"
  names = ("batch", "trained", "ours", "theirs", "times as fast", "of cores", "of the limit")
  table = Table(*names, title=title)
  for step in result.steps:
    timing, least = step.timing, sum(result.least(step).values())
    seconds = {side: timing.median(side) for side in train.SIDES}
    table.add_row(
      str(step.batch),
      f"rank {step.adapter}" if step.adapter else "all",
      *(f"{x:.3f}" for x in seconds.values()),
      f"{timing.ratio:.2f} ({min(timing.ratios):.2f}-{max(timing.ratios):.2f})",
      " / ".join(f"{np.median(timing.processor[side]):.2f}" for side in train.SIDES),
      " / ".join(f"{least / x:.0%}" for x in seconds.values()),
    )
  return table
