"""Models in the box: adapters for English, whose backbones `luke-jax get` fetches."""

from collections.abc import Sequence

from luke_jax.errors import InputError
from luke_jax.files import Path

NAME, BASE = "english", "english-base"
# Each a folder here: those that answer by themselves, and one that needs a catalogue.
TASKS, LINKING = ("ner", "labels", "qa", "facts", "typing"), "linking"
_HERE = Path(__file__).parent
# Boxes by the names of their backbones, with their folders and what is in them.
BOXES: dict[str, tuple[Path, Sequence[str]]] = {
  NAME: (_HERE, (*TASKS, LINKING)),
  BASE: (_HERE / "base", ("ner", "labels")),
}


def directory(task: str, box: str = NAME) -> Path:
  """Returns the directory of the adapter for a task."""
  folder, tasks = BOXES[box]
  if task not in tasks:
    names = ", ".join(f"{box}/{task}" for task in tasks)
    raise InputError(f"{box}/{task}: no such model; expected one of {names}")
  return folder / task


def beside(model: Path, task: str) -> Path:
  """Returns the name of the model for a task in the box of a model, or else in the first."""
  box = str(model.parent)
  return Path(f"{box if box in BOXES else NAME}/{task}")


def named(directory: Path) -> str:
  """Returns the name of a directory of a box, or the directory itself."""
  boxes = [box for box, (folder, _) in BOXES.items() if folder == directory.parent]
  return f"{boxes[0]}/{directory.name}" if boxes else str(directory)
