"""Models in the box: adapters for English, whose backbone `luke-jax get english` fetches."""

from luke_jax.errors import InputError
from luke_jax.files import Path

NAME = "english"
# Each a folder here: those that answer by themselves, and one that needs a catalogue.
TASKS, LINKING = ("ner", "labels", "qa", "facts", "typing"), "linking"


def directory(task: str) -> Path:
  """Returns the directory of the adapter for a task."""
  if task not in (*TASKS, LINKING):
    names = ", ".join(f"{NAME}/{task}" for task in (*TASKS, LINKING))
    raise InputError(f"{NAME}/{task}: no such model; expected one of {names}")
  return Path(__file__).parent / task


def named(directory: Path) -> str:
  """Returns the name of a directory of the box, or the directory itself."""
  inside = directory.parent == Path(__file__).parent
  return f"{NAME}/{directory.name}" if inside else str(directory)
