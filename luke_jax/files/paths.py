"""Paths on a disk or in a bucket, by one name."""

import os
import pathlib
import re
from typing import TYPE_CHECKING

_BUCKET = re.compile("gs:/+")  # pathlib keeps one slash of the two

if TYPE_CHECKING:
  from pathlib import Path
else:

  class Path(os.PathLike):
    """Makes a path of pathlib, or for gs://… one with the same methods for the objects there."""

    def __new__(cls, *parts):
      """Returns the path of the parts, joined."""
      parts = [os.fspath(part) for part in parts]
      if not parts or not _BUCKET.match(parts[0]):
        return pathlib.Path(*parts)
      from luke_jax.files.buckets import BucketPath  # imports of 0.1 s, which few commands need

      return BucketPath(_BUCKET.sub("gs://", parts[0], count=1), *parts[1:])

  Path.register(pathlib.PurePath)


def in_bucket(path: Path) -> bool:
  """Returns whether a path is in a bucket."""
  return not isinstance(path, pathlib.Path)
