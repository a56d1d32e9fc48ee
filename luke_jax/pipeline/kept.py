"""What is read once and kept until a command or a run begins: a notebook's files may change."""

import functools
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")
_kept: list[Any] = []


def kept(most: int) -> Callable[[Callable[..., T]], Callable[..., T]]:
  """Keeps what a function returned for so many arguments, until `forget`."""

  def keeping(function: Callable[..., T]) -> Callable[..., T]:
    _kept.append(functools.lru_cache(most)(function))
    return _kept[-1]

  return keeping


def forget() -> None:
  """Everything is read anew."""
  for function in _kept:
    function.cache_clear()
