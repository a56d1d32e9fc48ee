"""Models, files and their options, for the commands of the tasks."""

import dataclasses
import sys
from typing import Any

from luke_jax.convert.parts import ModelParts
from luke_jax.convert.reading import read
from luke_jax.errors import InputError, at
from luke_jax.files import Path
from luke_jax.formats.files import Faults
from luke_jax.inference.predicting import asked
from luke_jax.inference.settings import own_head, scores_fitted, task_of
from luke_jax.runs.models import backbone_of, model_directory
from luke_jax.tasks.contract import TextTask
from luke_jax.tasks.known import CLASSES, task_class
from luke_jax.tasks.labels.wordings import labels_in
from luke_jax.tasks.running import check_inputs
from luke_jax.training.experiment_files import is_experiment_file, own_classes

_LISTS = ("columns", "tag_names")


@dataclasses.dataclass(frozen=True)
class FileOptions:
  """Options for reading a file of named entities, of texts with labels, or of questions."""

  columns: str = ""
  """For ner, tagging and labels: content of each column of the file, `word`, `tag` or `_` for one
  that is not read, as in `_,word,_,tag`. By default the last holds the tags and the first the
  words, after columns that number the lines. For classification: the columns to read, as in
  `text=review,label=stars`, or a benchmark whose files they are, such as `mnli` or `afqmc`."""
  repair_tags: bool = False
  """For ner, tagging and labels: reads tags that are not legal where they stand as conlleval does,
  and counts them: an I- tag after O or after another label begins an entity."""
  tag_names: str = ""
  """For ner, tagging and labels: names of tags that are numbers, in order, such as
  `O,B-PER,I-PER`."""
  language: str = ""
  """For qa: language by whose rules answers are compared, as in MLQA: ar, de, en, es, hi, vi or zh.
  MLQA's files have it in their names. For ner and labels: language whose rules split texts into
  sentences."""

  def of(self, task: TextTask) -> TextTask:
    """Returns the task with these options, if its files have such layouts."""
    options = {name: value for name, value in vars(self).items() if value}
    if not options:
      return task
    if lacking := [name for name in options if name not in field_names(task)]:
      option = f"--{lacking[0].replace('_', '-')}"
      others = ", ".join(x for x in CLASSES if hasattr(task_class(x), lacking[0]))
      raise InputError(f"{option}: {task.name} has no such files; expected it for {others}")
    changes: dict[str, Any] = {
      name: tuple(part.strip() for part in value.split(",")) if name in _LISTS else value
      for name, value in options.items()
    }
    return dataclasses.replace(task, **changes)

  def changes(self, task: str) -> list[str]:
    """Returns the options as changes of fields of a task, or of the one of an experiment file."""
    if task in CLASSES:
      self.of(task_class(task)())
    given = {name: value for name, value in vars(self).items() if value}
    return [f"task.{name}={'true' if x is True else x}" for name, x in given.items()]


def with_attributes(task: TextTask, names: str) -> TextTask:
  """Returns the task with the names of attributes, if any are given."""
  if not names:
    return task
  if "attributes" not in field_names(task):
    raise InputError(f"--attributes: {task.name} reads none; expected it for classification")
  settings: Any = task
  with at("--attributes"):
    attribute_names = tuple(name.strip() for name in names.split(","))
    attributes = dataclasses.replace(settings.attributes, names=attribute_names)
    return dataclasses.replace(settings, attributes=attributes)


def field_names(task: TextTask | type[TextTask]) -> set[str]:
  """Returns the names of a task's settings."""
  return {field.name for field in dataclasses.fields(task)}


MOST_REPORTED = 10
MANY_LABELS = 300  # labels, whose reading takes seconds


@dataclasses.dataclass(frozen=True)
class ModelOptions:
  """Options for reading a model, and what its task reads beside texts."""

  backbone: Path | None = None
  """Directory of the backbone, for an adapter of one that was not fetched."""
  mentions: Path | None = None
  """For qa, a folder of luke-jax wiki mentions, whose entities are linked in the texts."""
  vectors: Path | None = None
  """For a model that reads vectors of linked entities, their folder."""
  knowledge: Path | None = None
  """For linking, a folder of other knowledge than that of the training."""
  labels: str = ""
  """For labels: those to look for, such as "person, award: a prize given for merit", set apart by
  semicolons where a description has commas, or a .txt file with one on each line. By default those
  of a file with answers, and for predictions the kinds that the model learnt, if at most 40. For
  ner: those of the model's own to show, as "PER, TIME" of english/ner."""
  nested: bool = False
  """For labels: names may stand inside others."""
  several: bool = False
  """For labels: names have all their labels, not only the one that says most."""

  def read(self, task: str, directory: Path) -> tuple[ModelParts, TextTask]:
    """Returns the model of a directory, or of the run in it, and its task.

    The task is one of luke_jax by its name, or that of an experiment file.
    """
    own = Path(task) if is_experiment_file(task) else None
    kind, system = (task_class(task), None) if own is None else own_classes(own, TextTask)
    backbone = self.backbone or backbone_of(directory)
    directory = model_directory(directory)
    if own is None:
      model = read(directory, backbone=backbone)
    else:
      model = read(directory, backbone=backbone, system=system, head=own_head(kind))
    with at(directory):
      folders = {"mentions": self.mentions, "vectors": self.vectors, "knowledge": self.knowledge}
      for name, folder in folders.items():
        if folder and name not in field_names(kind):
          able = ", ".join(x for x in CLASSES if name in field_names(task_class(x)))
          raise InputError(
            f"--{name}: {folder}; expected none, for only {able} reads such a folder"
          )
      named = task if own is None else kind
      changes: dict[str, Any] = {name: str(x) for name, x in folders.items() if x}
      flags = {"nested": self.nested, "several": self.several}
      changes |= {name: True for name, wanted in flags.items() if wanted}
      if self.labels:
        found = labels_in(self.labels)
        if len(found) > MANY_LABELS:
          print(f"reading {len(found):,} labels", file=sys.stderr)
        changes |= asked(model, found)
      settings = task_of(model, named, **changes)
      check_inputs(settings, model.backbone)
      settings.check_head(model.network)
      return model, settings


def warn_of_scores(model: ModelParts, task: TextTask) -> None:
  """Says on stderr if a model's scores were never fitted to be shares of right answers."""
  if not scores_fitted(model, task):
    print(
      "scores are as computed, for the model has no calibration: luke-jax calibrate"
      f" {task.name} fits them to a file of examples",
      file=sys.stderr,
    )


def report_faults(faults: Faults) -> None:
  """Reports on stderr the first examples that were left out of a file, and their number."""
  for fault in faults.found[:MOST_REPORTED]:
    print(f"luke-jax: left out: {fault}", file=sys.stderr)
  if len(faults.found) > MOST_REPORTED:
    print(f"luke-jax: left out: {len(faults.found)} in all", file=sys.stderr)
