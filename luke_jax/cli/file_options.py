"""Options of the commands that read files in various layouts."""

import dataclasses
from typing import Any

from luke_jax.errors import InputError, at
from luke_jax.tasks.classification.task import TextClassification


@dataclasses.dataclass(frozen=True)
class FileOptions:
  """Options for reading a file of named entities, or of texts with labels."""

  columns: str = ""
  """For ner and tagging: content of each column of the file, `word`, `tag` or `_` for one that is
  not read, as in `_,word,_,tag`. By default the last holds the tags and the first the words, after
  columns that number the lines. For classification: the columns to read, as in
  `text=review,label=stars`, or a benchmark whose files they are, such as `mnli` or `afqmc`."""
  repair_tags: bool = False
  """For ner and tagging: reads tags that are not legal where they stand as conlleval does, and
  counts them: an I- tag after O or after another label begins an entity."""
  tag_names: str = ""
  """For ner and tagging: names of tags that are numbers, in order, such as `O,B-PER,I-PER`."""

  def of(self, task: Any) -> Any:
    """Returns the task with these options, if its files have such layouts."""
    given = {name: value for name, value in vars(self).items() if value}
    if not given:
      return task
    known = {field.name for field in dataclasses.fields(task)}
    if lacking := [name for name in given if name not in known]:
      option = f"--{lacking[0].replace('_', '-')}"
      raise InputError(
        f"{option}: {task.name} has no such files; expected it for ner, tagging or classification"
      )
    changes = {
      name: tuple(part.strip() for part in value.split(",")) if isinstance(value, str) else value
      for name, value in given.items()
    }
    return dataclasses.replace(task, **changes)


def with_attributes(task: Any, names: str) -> Any:
  """Returns the task with the names of attributes, if any are given."""
  if not names:
    return task
  if not isinstance(task, TextClassification):
    raise InputError(f"--attributes: {task.name} reads none; expected it for classification")
  with at("--attributes"):
    given = tuple(name.strip() for name in names.split(","))
    attributes = dataclasses.replace(task.attributes, names=given)
    return dataclasses.replace(task, attributes=attributes)
