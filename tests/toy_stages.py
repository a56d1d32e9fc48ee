"""Work for stages in tests; a module of its own, for workers import it."""

import dataclasses
import os
import signal
import time
from pathlib import Path

from luke_jax.errors import InputError
from luke_jax.files import whole


@dataclasses.dataclass(frozen=True)
class Write:
  """Writes a file a shard, and a line to a log for each time it does."""

  folder: Path
  log: Path
  text: str = ""
  wrong: int = -1  # the shard that fails
  how: str = "mend"

  def __call__(self, shard):
    with self.log.open("a") as log:
      log.write(f"{shard}\n")
    if shard == self.wrong:
      if self.how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
      if self.how == "disk":
        raise OSError(28, "No space left on device", "somewhere")
      raise InputError(f"shard {shard}: wrong; expected right")
    with whole(self.folder / f"{shard}.txt") as part:
      part.write_text(f"{self.text}{shard}")
    return {"made": 1, "number": shard}


@dataclasses.dataclass(frozen=True)
class NotePid:
  """Writes the worker's process id and sleeps."""

  folder: Path

  def __call__(self, shard):
    (self.folder / f"{shard}.pid").write_text(str(os.getpid()))
    time.sleep(60)
    return {}
