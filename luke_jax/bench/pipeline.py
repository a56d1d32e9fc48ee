"""Benchmark of the input pipeline: batches per second, and the time steps wait for them."""

import dataclasses
import functools
import statistics
import time

import numpy as np

from luke_jax.bench.machine import cores_and_processor, one_core
from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.models.family import Backbone
from luke_jax.models.luke import LukeConfig
from luke_jax.pipeline.batches import TrainingBatches
from luke_jax.pipeline.metadata import read_metadata
from luke_jax.pipeline.vocabularies import read_words
from luke_jax.tasks.pretraining import Pretraining

UNMEASURED = 4  # first batches, during which files are opened and workers start


@dataclasses.dataclass(frozen=True)
class Result:
  """Measurements of one run."""

  machine: str
  records: int
  batch_size: int
  tokens: float  # words of a batch without padding, on average
  seconds: list[float]  # to make a batch on one core, by round
  step_ms: float
  workers: int
  waiting: float  # share of the time that steps wait for batches that workers make ahead

  @property
  def tokens_per_second(self) -> float:
    """Returns the words per second on one core, the median over rounds."""
    return self.tokens / statistics.median(self.seconds)


def run(
  folder: Path, *, batch_size: int, batches: int, rounds: int, step_ms: float, workers: int
) -> Result:
  """Times making batches on one core, and then how long steps wait for batches made ahead."""
  limits = {"batch_size": 1, "batches": 1, "rounds": 1, "workers": 0}
  values = {"batch_size": batch_size, "batches": batches, "rounds": rounds, "workers": workers}
  for name, least in limits.items():
    if values[name] < least:
      raise InputError(f"{name}: {values[name]}; expected {least} or more")
  if not 0 < step_ms < 1e6:
    raise InputError(f"step_ms: {step_ms}; expected milliseconds above 0")
  source = training_batches(folder, batch_size)
  with one_core():
    rows = [source(number) for number in range(UNMEASURED)]
    seconds = [_seconds_a_batch(source, batches * number, batches) for number in range(rounds)]
  tokens = float(np.mean([row["attention_mask"].sum() for row in rows]))
  return Result(
    machine=cores_and_processor(),
    records=len(source.records),
    batch_size=batch_size,
    tokens=tokens,
    seconds=seconds,
    step_ms=step_ms,
    workers=workers,
    waiting=_waiting(source, batches, step_ms, workers),
  )


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
  backbone = Backbone(config)
  records = task.records(backbone, "train")
  make_rows = functools.partial(task.rows, backbone)
  return TrainingBatches(records, make_rows, 0, batch_size, 1, np.arange(batch_size))


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
