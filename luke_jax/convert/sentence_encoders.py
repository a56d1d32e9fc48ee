"""Sentence encoders: models whose mean of words' states was trained to be the meaning of a text."""

import json
import re

from luke_jax.convert.card import CARD
from luke_jax.files import Path

POOLING = Path("1_Pooling") / "config.json"  # of sentence-transformers
LIBRARY = "sentence-transformers"


def pools_means(directory: Path) -> bool:
  """Returns true if a model's files say so: that of its pooling, else the head of its card."""
  try:
    pooling = json.loads((directory / POOLING).read_text(encoding="utf-8"))
    return pooling.get("pooling_mode_mean_tokens") is True
  except (OSError, ValueError, AttributeError):
    pass
  try:
    card = (directory / CARD).read_text(encoding="utf-8")
  except (OSError, UnicodeDecodeError):
    return False
  head = re.match(r"\s*---\n(.*?)\n---", card, re.DOTALL)
  return bool(head and re.search(rf"^library_name: {LIBRARY}\s*$", head[1], re.MULTILINE))
