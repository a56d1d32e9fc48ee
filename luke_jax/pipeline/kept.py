"""Cache of files that are read once, cleared when a command or a run begins.

A notebook's process may outlive changes of its files.
"""

import functools
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")
_caches: list[Any] = []


def kept(most: int) -> Callable[[Callable[..., T]], Callable[..., T]]:
  """Caches what a function returns, for up to `most` different arguments, until `forget`."""

  def cached(function: Callable[..., T]) -> Callable[..., T]:
    _caches.append(functools.lru_cache(most)(function))
    return _caches[-1]

  return cached


def forget() -> None:
  """Clears all caches, so that files are read again."""
  for function in _caches:
    function.cache_clear()
