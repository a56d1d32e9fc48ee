"""Engines, which make shards in processes of this machine or with Apache Beam wherever it runs."""

import contextlib
import dataclasses
import multiprocessing
import os
import shlex
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import wait
from typing import Literal

from luke_jax.errors import InputError, check_whole, not_installed
from luke_jax.wiki.stages.stage import Engine


@dataclasses.dataclass(frozen=True)
class EngineOptions:
  """Options for the engine that makes the shards."""

  workers: int = 1
  """Processes of the local engine."""
  engine: Literal["local", "beam"] = "local"
  """Processes of this machine, or an Apache Beam runner."""
  beam_options: str = ""
  """Flags of the Beam runner in one string, such as "--runner=FlinkRunner"."""

  def opened(self) -> contextlib.AbstractContextManager[Engine]:
    """Returns the engine that the options select."""
    if self.engine == "local":
      if self.beam_options:
        raise InputError("--beam-options: without --engine beam; expected both or neither")
      return local(self.workers)
    try:
      return beam(shlex.split(self.beam_options))
    except ValueError as fault:
      raise InputError(f"--beam-options: {fault}; expected flags as in a shell") from None


@contextlib.contextmanager
def local(workers: int) -> Iterator[Engine]:
  """Yields an engine of `workers` processes, which end with the context; 1 is this process."""
  check_whole(1, **{"--workers": workers})
  if workers == 1:
    yield _run_here
    return
  spawn = multiprocessing.get_context("spawn")
  with ProcessPoolExecutor(workers, mp_context=spawn, initializer=_start_worker) as pool:

    def engine(run: Callable[[int], None], shards: Sequence[int]) -> None:
      try:
        with _interrupts_blocked():
          futures = [pool.submit(run, shard) for shard in shards]
        _wait_for_all(futures)
      except BrokenProcessPool:
        raise InputError(
          "a worker process died, perhaps for want of memory; expected it to live: finished shards"
          " are kept, so run the same command again, perhaps with fewer --workers"
        ) from None

    yield engine


@contextlib.contextmanager
def beam(options: Sequence[str]) -> Iterator[Engine]:
  """Yields an engine that runs a Beam pipeline for each stage, with the flags of any Beam runner.

  Only the numbers of shards are sent to workers, so every worker must see the same folders: those
  of a bucket, or of a disk that all have mounted.
  """
  try:
    import apache_beam
    from apache_beam.options.pipeline_options import PipelineOptions
  except ImportError:
    raise not_installed("apache_beam", "for --engine beam", "beam") from None

  def engine(run: Callable[[int], None], shards: Sequence[int]) -> None:
    if not shards:
      return
    with apache_beam.Pipeline(options=PipelineOptions(list(options))) as pipeline:
      numbers = pipeline | apache_beam.Create(list(shards)) | apache_beam.Reshuffle()
      _ = numbers | apache_beam.Map(run)

  yield engine


def _run_here(run: Callable[[int], None], shards: Sequence[int]) -> None:
  for shard in shards:
    run(shard)


def _wait_for_all(futures: list[Future]) -> None:
  """Waits for all, or until one fails; then those that have not started are cancelled."""
  try:
    for future in as_completed(futures):
      future.result()
  except KeyboardInterrupt:
    for worker in multiprocessing.active_children():
      worker.kill()
    raise
  except BaseException:
    for future in futures:
      future.cancel()
    raise


@contextlib.contextmanager
def _interrupts_blocked() -> Iterator[None]:
  """Makes processes started within ignore Ctrl-C, which a terminal sends to all its processes."""
  before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
  try:
    yield
  finally:
    signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _start_worker() -> None:
  """Sets a worker up: it tokenizes with one thread and ends when its parent does.

  A worker that outlived its parent could write into a folder that another build has taken over.
  """
  os.environ["TOKENIZERS_PARALLELISM"] = "false"
  threading.Thread(target=_die_with_parent, daemon=True).start()


def _die_with_parent() -> None:
  parent = multiprocessing.parent_process()
  if parent is not None:
    wait([parent.sentinel])
    os._exit(1)
