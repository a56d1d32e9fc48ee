"""Options of the commands that read files of named entities, whoever wrote these."""

import dataclasses
from typing import Any

from luke_jax.errors import InputError


@dataclasses.dataclass(frozen=True)
class FileOptions:
  """How a file of named entities is read."""

  columns: str = ""
  """For ner: what each column of the file holds, `word`, `tag` or `_` for one that is not read, as
  in `_,word,_,tag`. Left out, columns that count the lines are not read, the next holds the words
  and the last the tags."""
  repair_tags: bool = False
  """For ner: read tags that are not legal where they stand, such as an I- with nothing to go on
  with, as conlleval does: they begin an entity. They are counted."""
  tag_names: str = ""
  """For ner: the names of tags that are numbers, in their order, such as `O,B-PER,I-PER`."""

  def of(self, task: Any) -> Any:
    """Returns the task with these options, which only ner has."""
    given = {name: value for name, value in vars(self).items() if value}
    if not given:
      return task
    if task.name != "ner":
      option = f"--{next(iter(given)).replace('_', '-')}"
      raise InputError(f"{option}: {task.name} has no such files; expected it for ner only")
    changes = {
      name: tuple(part.strip() for part in value.split(",")) if isinstance(value, str) else value
      for name, value in given.items()
    }
    return dataclasses.replace(task, **changes)
