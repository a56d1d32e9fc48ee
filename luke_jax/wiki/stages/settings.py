"""Inputs and options of a build."""

import dataclasses

from luke_jax.files import Path
from luke_jax.wiki.stages.packing import Limits
from luke_jax.wiki.stages.shuffle_stage import RECORDS_PER_FILE
from luke_jax.wiki.stages.vocabulary_stage import Selection


@dataclasses.dataclass(frozen=True)
class Settings:
  """Inputs and options of a build.

  `vocabulary` is a file of existing entities, such as those of several languages; without it the
  most linked pages become entities. `part_size` is the number of bytes that a shard reads. Of
  dumps, `dense_links` links names of a page and of its links wherever they are. Of texts, `names`
  is a table of further names, and `left_out` are sources of mentions.
  """

  dumps: tuple[Path, ...]
  tokenizer: Path
  language: str | None = None
  sections: bool = False
  skip_bad_pages: bool = False
  selection: Selection = dataclasses.field(default_factory=Selection)
  vocabulary: Path | None = None
  limits: Limits = dataclasses.field(default_factory=Limits)
  seed: int = 0
  part_size: int | None = None
  records_per_file: int = RECORDS_PER_FILE
  dense_links: bool = False
  names: Path | None = None
  left_out: tuple[str, ...] = ()
