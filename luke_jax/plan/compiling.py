"""Compiles a step for a TPU that is not there, in a process of its own.

libtpu takes its options when it is loaded, so those that make it write final bundles need a fresh
process.
"""

import concurrent.futures
import dataclasses
import multiprocessing
import os
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax

from luke_jax.errors import InputError
from luke_jax.plan import bundles
from luke_jax.plan.bundles import Bundles
from luke_jax.plan.chips import Topology, prepare_environment
from luke_jax.plan.cycles import window_counts
from luke_jax.plan.hlo import Program, parse
from luke_jax.plan.memory import (
  Memory,
  OutOfMemory,
  bytes_per_device,
  memory_of,
  parse_out_of_memory,
)

# Returns a lowered step and the tree of shapes with shardings that it was lowered for. A function
# of a module, called with arguments that can be pickled.
Lower = Callable[..., tuple[jax.stages.Lowered, Any]]
_LOG = "log"


@dataclasses.dataclass(frozen=True)
class Compiled:
  """A compiled step, as far as it is needed to tell what it costs."""

  program: Program
  bundles: dict[str, Bundles]
  memory: Memory
  seconds: float  # to compile


def compile_in_child(topology: Topology, lower: Lower, *arguments: Any) -> Compiled | OutOfMemory:
  """Calls `lower(*arguments)` in a new process and compiles there what it returns."""
  spawn = multiprocessing.get_context("spawn")
  with tempfile.TemporaryDirectory(prefix="luke-jax-plan-") as folder:
    directory = Path(folder)
    with concurrent.futures.ProcessPoolExecutor(
      1, mp_context=spawn, initializer=_prepare, initargs=(directory,)
    ) as pool:
      try:
        result, messages = pool.submit(_compile, lower, arguments).result()
      except concurrent.futures.BrokenExecutor:
        raise InputError(
          f"compiling for {topology}: the process died: {_last_line(directory / _LOG)};"
          " expected enough memory on this machine"
        ) from None
    for message in messages:
      warnings.warn(message, stacklevel=2)
    if isinstance(result, OutOfMemory):
      return result
    text, memory, seconds = result
    program = parse(text)
    written = bundles.read_directory(directory, window_counts(program), topology.chip.cores)
    return Compiled(program, written, memory, seconds)


def _prepare(directory: Path) -> None:
  """Runs in the child before anything loads libtpu."""
  # libtpu's chatter about the missing chip says nothing to a user.
  log = os.open(directory / _LOG, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
  os.dup2(log, 2)
  os.close(log)
  prepare_environment()
  given = os.environ.get("LIBTPU_INIT_ARGS", "")
  os.environ["LIBTPU_INIT_ARGS"] = f"{given} {bundles.options(directory)}".strip()
  jax.config.update("jax_platforms", "cpu")
  jax.config.update("jax_enable_compilation_cache", False)  # a program from there has no bundles


def _compile(
  lower: Lower, arguments: tuple
) -> tuple[tuple[str, Memory, float] | OutOfMemory, list[str]]:
  """What the compiler made, and what the program's own code warned of."""
  with warnings.catch_warnings(record=True) as caught:
    lowered, shapes = lower(*arguments)
  messages = [str(warning.message) for warning in caught if warning.category is UserWarning]
  start = time.perf_counter()
  try:
    compiled = lowered.compile()
  except jax.errors.JaxRuntimeError as error:
    fault = parse_out_of_memory(str(error), bytes_per_device(shapes))
    if fault is None:
      raise
    return fault, messages
  seconds = time.perf_counter() - start
  return (compiled.as_text() or "", memory_of(compiled), seconds), messages


def _last_line(path: Path) -> str:
  lines = path.read_text(errors="replace").strip().splitlines() if path.exists() else []
  return lines[-1][:200] if lines else "it said nothing"
