"""Texts cut into phrases, for the masking of whole ones."""

from collections.abc import Callable
from typing import Literal

from luke_jax.errors import not_installed

Segmenter = Literal["spaces", "jieba"]


def segmenter(name: Segmenter) -> Callable[[str], list[str]]:
  """Returns what cuts a text: at its spaces, or into Chinese words by jieba."""
  return str.split if name == "spaces" else _jieba()


def _jieba() -> Callable[[str], list[str]]:
  try:
    import jieba
  except ImportError:
    raise not_installed("jieba", "to cut Chinese into words", "zh") from None
  jieba.setLogLevel("WARNING")  # it reports its dictionary's loading
  return lambda text: [word for word in jieba.lcut(text) if not word.isspace()]
