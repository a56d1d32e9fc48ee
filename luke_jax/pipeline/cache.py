"""Caches of what is read from files, cleared when a command or a run begins.

A notebook's process may outlive changes of its files.
"""

import functools
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")
_caches: list[Any] = []


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
