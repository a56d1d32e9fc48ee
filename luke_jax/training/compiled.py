"""Folder in which the compiled programs of a run are kept."""

import os

import jax
from jax.experimental.compilation_cache import compilation_cache

from luke_jax.files import Path, program_folder
from luke_jax.training import messages

COMPILED = "compiled"


def keep_programs(folder: Path) -> None:
  """Keeps a command's programs in the run's folder, where all hosts and the next start find them.

  A machine of one process with a CPU keeps them in the user's cache, which other runs share: the
  disks of TPU hosts end with them. So does one whose user named another place.
  """
  named = os.environ.get("JAX_COMPILATION_CACHE_DIR")
  own = program_folder()
  if named != str(own) or (messages.alone() and jax.default_backend() == "cpu"):
    return
  jax.config.update("jax_compilation_cache_dir", str(folder / COMPILED / own.name))
  compilation_cache.reset_cache()
