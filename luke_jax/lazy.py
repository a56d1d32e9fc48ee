"""Libraries that are imported when they are first used, since a fault should not wait for them."""

import functools
import importlib
from typing import Any


class Lazy:
  """Stand-in for a module, or a part of one, that is imported once something is asked of it."""

  def __init__(self, module: str, part: str | None = None):
    self._place = module, part

  @functools.cached_property
  def _found(self) -> Any:
    module, part = self._place
    imported = importlib.import_module(module)
    return getattr(imported, part) if part else imported

  def __getattr__(self, name: str) -> Any:
    return getattr(self._found, name)
