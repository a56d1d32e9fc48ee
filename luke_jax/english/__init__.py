"""Models in the box: adapters for English, whose backbones `luke-jax get` fetches."""

from collections.abc import Sequence

from luke_jax.errors import InputError
from luke_jax.files import Path

NAME, BASE = "english", "english-base"
LINKING = "linking"  # which needs a catalogue; the others answer by themselves
_HERE = Path(__file__).parent
# Boxes by the names of their backbones, with their folders and what is in them.
BOXES: dict[str, tuple[Path, Sequence[str]]] = {
  NAME: (_HERE, ("ner", "labels", "qa", "facts", "typing", LINKING)),
  BASE: (_HERE / "base", ("ner", "labels", "qa", "typing")),
}


def directory(task: str, box: str = NAME) -> Path:
  """Returns the directory of the adapter for a task."""
  folder, tasks = BOXES[box]
  if task not in tasks:
    names = ", ".join(f"{box}/{task}" for task in tasks)
    raise InputError(f"{box}/{task}: no such model; expected one of {names}")
  return folder / task


def answering(model: Path) -> list[Path]:
  """Returns a model, or those of a box that answer by themselves by the name of that."""
  if model.exists() or str(model) not in BOXES:
    return [model]
  return [model / task for task in BOXES[str(model)][1] if task != LINKING]


def named(directory: Path) -> str:
  """Returns the name of a directory of a box, or the directory itself."""
  boxes = [box for box, (folder, _) in BOXES.items() if folder == directory.parent]
  return f"{boxes[0]}/{directory.name}" if boxes else str(directory)
