"""What the commands of the five tasks share: their models, and what was wrong in their files."""

import sys
from pathlib import Path
from typing import Any

from luke_jax.convert.loading import read_model
from luke_jax.convert.parts import ModelParts
from luke_jax.errors import InputError
from luke_jax.inference.settings import task_of
from luke_jax.runs.models import model_directory
from luke_jax.tasks.files import Faults

MOST_TOLD = 10


def load_for(task: str, directory: Path, mentions: Path | None = None) -> tuple[ModelParts, Any]:
  """The model of a directory, or of the run in it, and its task, which may link by mentions."""
  if mentions and task != "qa":
    raise InputError(f"--mentions: {mentions}; expected none, for only qa links entities")
  directory = model_directory(directory)
  model = read_model(directory)
  try:
    return model, task_of(model, task, **({"mentions": str(mentions)} if mentions else {}))
  except InputError as fault:
    raise InputError(f"{directory}: {fault}") from None


def told(faults: Faults) -> None:
  """Says what was left out of a file, and how often."""
  for fault in faults.found[:MOST_TOLD]:
    print(f"luke-jax: left out: {fault}", file=sys.stderr)
  if len(faults.found) > MOST_TOLD:
    print(f"luke-jax: left out: {len(faults.found)} in all", file=sys.stderr)
