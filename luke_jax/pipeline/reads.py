"""Files that a task reads, which have to stay the same while a run lasts, and caches of them.

Caches are cleared when a command or a run begins: a notebook's process may outlive changes of its
files.
"""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")
_caches: list[Any] = []


@dataclasses.dataclass(frozen=True)
class Reads:
  """Files by how they are read; a change of any of them ends a run."""

  whole: tuple[str, ...] = ()  # files, and splits of datasets, that are read to their end
  parts: tuple[str, ...] = ()  # large files that are read here and there

  def __add__(self, other: "Reads") -> "Reads":
    return Reads(self.whole + other.whole, self.parts + other.parts)


def cached(most: int) -> Callable[[Callable[..., T]], Callable[..., T]]:
  """Returns a decorator that caches results for up to `most` different arguments.

  Results stay until `clear_caches`.
  """

  def decorate(function: Callable[..., T]) -> Callable[..., T]:
    _caches.append(functools.lru_cache(most)(function))
    return _caches[-1]

  return decorate


def clear_caches() -> None:
  """Clears all caches, so that files are read again."""
  for function in _caches:
    function.cache_clear()
