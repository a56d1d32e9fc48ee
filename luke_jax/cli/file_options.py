"""Options of the commands that read files of named entities in various layouts."""

import dataclasses
from typing import Any

from luke_jax.errors import InputError


@dataclasses.dataclass(frozen=True)
class FileOptions:
  """Options for reading a file of named entities."""

  columns: str = ""
  """For ner: content of each column of the file, `word`, `tag` or `_` for one that is not read, as
  in `_,word,_,tag`. By default the last holds the tags and the first the words, after columns that
  number the lines."""
  repair_tags: bool = False
  """For ner: reads tags that are not legal where they stand as conlleval does, and counts them: an
  I- tag after O or after another label begins an entity."""
  tag_names: str = ""
  """For ner: names of tags that are numbers, in their order, such as `O,B-PER,I-PER`."""

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
