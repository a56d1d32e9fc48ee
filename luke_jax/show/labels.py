"""Labels of a text, with their probabilities."""

import html
from typing import Any

from luke_jax.errors import InputError
from luke_jax.show.picture import Picture
from luke_jax.show.tables import bars
from luke_jax.tasks.predictions import Labels


def labels(text: str, prediction: Any, *, pair: str | None = None, count: int = 10) -> Picture:
  """Draws a text, or a pair, above the probabilities of its `count` most probable labels.

  `prediction` is what `model.predict` returns for a text that is given labels.
  """
  if not isinstance(prediction, Labels):
    raise InputError(f"prediction: a {type(prediction).__name__}; expected labels of a text")
  ordered = sorted(prediction.scores.items(), key=lambda item: -item[1])
  texts = "".join(f'<p dir="auto">{html.escape(x)}</p>' for x in (text, pair) if x is not None)
  chosen = ", ".join(x.label for x in prediction) or "nothing"
  note = f'<p class="note">{html.escape(chosen)}</p>'
  return Picture(f"{texts}{note}{bars(ordered[:count])}", text[:60])
