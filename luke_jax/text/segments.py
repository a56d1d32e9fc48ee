"""Texts cut into phrases, for the masking of whole ones."""

from collections.abc import Callable
from typing import Literal

from luke_jax.errors import InputError, not_installed
from luke_jax.files import cache_folder

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
  folder = cache_folder() / "jieba"
  try:
    folder.mkdir(parents=True, exist_ok=True)
  except OSError as fault:
    expected = "a folder that can be written, as LUKE_JAX_CACHE can name one"
    raise InputError(f"{folder}: {fault.strerror}; expected {expected}") from None
  # Not the folder that all users of the machine may write to: it reads back what lies there.
  jieba.dt.tmp_dir = str(folder)
  return lambda text: [word for word in jieba.dt.lcut(text) if not word.isspace()]
