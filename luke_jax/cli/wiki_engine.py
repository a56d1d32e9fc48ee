"""The options of commands that build, for the engine that makes the shards of a stage."""

import contextlib
import dataclasses
import shlex
from typing import Literal

from luke_jax.errors import InputError
from luke_jax.wiki.stages.engines import beam, local
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
