"""Documents of a task's files as its settings say: methods that `ner` and `tagging` share."""

from collections.abc import Mapping, Sequence
from typing import Any

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.tasks.files import Faults
from luke_jax.tasks.fine_tuning import check_label
from luke_jax.tasks.ner import files
from luke_jax.tasks.ner.documents import Example, labelled
from luke_jax.tasks.ner.words import Reading
from luke_jax.tasks.predictions import Span


def read(task: Any, path: Path, faults: Faults) -> list[Example]:
  """Reads the documents of a file."""
  return files.read(path, faults, _form(task))


def parse(task: Any, value: Mapping[str, Any], id: str, place: str) -> Example:
  """Returns the document in an object of JSON lines."""
  return files.parse(value, id, place, _form(task))


def _form(task: Any) -> Reading:
  columns = task.columns, task.repair_tags, task.tag_names
  return Reading(task.language, task.every_word_spaced, *columns)


def check_spans(example: Example, known: Sequence[str]) -> None:
  """Refuses a document without spans, or with a label that is not known."""
  if example.spans is None:
    raise InputError(f"{example.place}: no spans; expected those of the entities, or tags")
  for span in example.spans:
    if span.label not in known:
      check_label(span.label, known, example.place_of(span.start))


def to_prediction(example: Example, prediction: Sequence[Span]) -> dict[str, Any]:
  """Returns a document's line in a file of predictions."""
  return {
    "id": example.id,
    "spans": [list(span) for span in files.as_in_files(example, labelled(prediction))],
    "texts": [span.text for span in prediction],
    "scores": [round(span.score, 4) for span in prediction],
  }
