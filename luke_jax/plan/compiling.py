"""Compiling a step for TPUs that are not attached, in a child process.

libtpu reads its options when it is loaded, and may end the process that it runs in. The largest
batch that fits is searched for in few compiles.
"""

import concurrent.futures
import dataclasses
import math
import multiprocessing
import os
import re
import tempfile
import time
import warnings
from collections.abc import Callable
from typing import Any

import jax

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.plan.chips import GIB, Topology, prepare_environment
from luke_jax.plan.hlo import HloModule, parse

# A function that returns a lowered step and the tree of shapes with shardings that it was lowered
# for. It and its arguments are pickled, so it must be defined at the top level of a module.
Lower = Callable[..., tuple[jax.stages.Lowered, Any]]
_UNITS = {unit: 1024**power for power, unit in enumerate("BKMGT")}
_SIZE = r"([\d.]+)([BKMGT])"
_MESSAGES = (
  rf"\({_SIZE}\) exceeds available HBM \({_SIZE}\)",
  rf"Used {_SIZE} of {_SIZE} hbm",  # libtpu up to 0.0.2x and some of today's paths
)


@dataclasses.dataclass(frozen=True)
class Memory:
  """Bytes on one chip."""

  arguments: int  # parameters, the optimizer's state and the batch
  outputs: int
  aliased: int  # outputs stored in the buffers of donated arguments
  temporaries: int
  code: int

  @property
  def total(self) -> int:
    """Returns the peak memory of a step; less if XLA stores results in temporaries' buffers."""
    return self.arguments + self.outputs - self.aliased + self.temporaries + self.code


@dataclasses.dataclass(frozen=True)
class OutOfMemory:
  """Step that does not fit on one chip, in bytes."""

  needed: int
  available: int
  arguments: int  # known before compiling


def memory_of(compiled: jax.stages.Compiled) -> Memory:
  """Returns the memory that the compiler allocated."""
  stats: Any = compiled.memory_analysis()
  return Memory(
    arguments=stats.argument_size_in_bytes,
    outputs=stats.output_size_in_bytes,
    aliased=stats.alias_size_in_bytes,
    temporaries=stats.temp_size_in_bytes,
    code=stats.generated_code_size_in_bytes,
  )


def bytes_per_device(arguments: object) -> int:
  """Returns the bytes of the largest shards of a tree of shapes with shardings."""
  total = 0
  for leaf in jax.tree.leaves(arguments):
    shape = leaf.shape if leaf.sharding is None else leaf.sharding.shard_shape(leaf.shape)
    total += math.prod(shape) * leaf.dtype.itemsize
  return total


def whole_bytes(arguments: object) -> int:
  """Returns the bytes of a tree of shapes, each array counted once over all devices."""
  return sum(math.prod(x.shape) * x.dtype.itemsize for x in jax.tree.leaves(arguments))


def parse_out_of_memory(message: str, arguments: int) -> OutOfMemory | None:
  """Parses XLA's message; None if it is another error."""
  if "RESOURCE_EXHAUSTED" not in message:
    return None
  for pattern in _MESSAGES:
    if match := re.search(pattern, message):
      needed, unit, available, available_unit = match.groups()
      return OutOfMemory(_bytes(needed, unit), _bytes(available, available_unit), arguments)
  return None


def _bytes(number: str, unit: str) -> int:
  return round(float(number) * _UNITS[unit])


def advice(
  fault: OutOfMemory, topology: Topology, *, sequences: int, remat: str, sharded: bool
) -> str:
  """Returns one line: needed and available memory, and which of batch, remat or sharding to change.

  `sequences` is the batch of one chip; `sharded` is whether all parameters are already sharded.
  """
  change = _change(fault, sequences=sequences, remat=remat, sharded=sharded)
  return (
    f"memory: a step needs {fault.needed / GIB:.2f} GiB on each chip of {topology},"
    f" {fault.arguments / GIB:.2f} of them for its arguments;"
    f" expected at most {fault.available / GIB:.2f}: {change}"
  )


def _change(fault: OutOfMemory, *, sequences: int, remat: str, sharded: bool) -> str:
  if fault.arguments >= fault.available:
    if sharded:
      return "take more chips, since parameters and optimizer alone do not fit"
    return "shard all parameters, since with the optimizer they alone do not fit"
  if remat != "full":
    return f"set remat to {'dots or full' if remat == 'none' else 'full'}, or take a smaller batch"
  room, used = fault.available - fault.arguments, fault.needed - fault.arguments
  fitting = int(sequences * room / used) if used > 0 else 0
  if fitting >= 1:
    return f"take a smaller batch: about {fitting} instead of {sequences} sequences a chip"
  return "take more chips" if sharded else "shard all parameters, or take more chips"


@dataclasses.dataclass(frozen=True)
class Compiled:
  """Compiled step: its program and its memory."""

  program: HloModule
  memory: Memory
  seconds: float  # to compile
  checkpoint_bytes: int = 0  # of the whole state, over all chips; a batch is counted with it


def compile_in_child(
  topology: Topology, lower: Lower, *arguments: object
) -> Compiled | OutOfMemory:
  """Calls `lower(*arguments)` in a new process and compiles there what it returns."""
  spawn = multiprocessing.get_context("spawn")
  with tempfile.TemporaryDirectory(prefix="luke-jax-plan-") as folder:
    log = Path(folder) / "log"
    with concurrent.futures.ProcessPoolExecutor(
      1, mp_context=spawn, initializer=_prepare, initargs=(log,)
    ) as pool:
      try:
        result, messages = pool.submit(_compile, lower, arguments).result()
      except concurrent.futures.BrokenExecutor:
        raise InputError(
          f"compiling for {topology}: the process died: {_last_line(log)};"
          " expected enough memory on this machine"
        ) from None
    for message in messages:
      warnings.warn(message, stacklevel=2)
    if isinstance(result, OutOfMemory):
      return result
    text, memory, seconds, checkpoint = result
    return Compiled(parse(text), memory, seconds, checkpoint)


def _prepare(path: Path) -> None:
  """Prepares the child, before anything in it loads libtpu."""
  # libtpu logs much about the missing chip to stderr, which is of no use to a user.
  log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
  os.dup2(log, 2)
  os.close(log)
  prepare_environment()
  jax.config.update("jax_platforms", "cpu")
  # A program from the cache is not compiled, and libtpu would write no dump of it.
  jax.config.update("jax_enable_compilation_cache", False)


def _compile(
  lower: Lower, arguments: tuple
) -> tuple[tuple[str, Memory, float, int] | OutOfMemory, list[str]]:
  """Returns the compiled step, or why it does not fit, and the warnings of the model's code."""
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
  return (compiled.as_text() or "", memory_of(compiled), seconds, whole_bytes(shapes)), messages


def _last_line(path: Path) -> str:
  lines = path.read_text(errors="replace").strip().splitlines() if path.exists() else []
  return lines[-1][:200] if lines else "nothing on stderr"


Attempt = Callable[[int], Compiled | OutOfMemory]


def largest_fit(attempt: Attempt, start: int) -> tuple[int, Compiled | OutOfMemory]:
  """Returns the most sequences per chip that fit, and the step compiled for them.

  `attempt` compiles for a number of sequences. The number is doubled or halved from `start`, then
  the gap is narrowed. If not even one sequence fits, its OutOfMemory is returned.
  """
  number, fits, fails = start, None, None
  while True:
    result = attempt(number)
    if isinstance(result, OutOfMemory):
      fails = number, result
    else:
      fits = number, result
    if fits is None:
      if number == 1:
        return number, result
      number //= 2
    elif fails is None:
      number *= 2
    elif fails[0] - fits[0] == 1:
      return fits
    else:
      number = _between(*fits, *fails)


def _between(low: int, fitting: Compiled, high: int, fault: OutOfMemory) -> int:
  """Returns where memory would be full if it grew linearly, away from both ends by an eighth."""
  gap, used = high - low, fitting.memory.total
  share = (fault.available - used) / max(fault.needed - used, 1)
  edge = max(1, gap // 8)
  return min(max(low + int(gap * share), low + edge), high - edge)
