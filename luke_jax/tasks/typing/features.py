"""Examples of entity typing as rows: the mention between markers, one `[MASK]` entity."""

from collections.abc import Sequence

import numpy as np

from luke_jax.tasks.features import Features, from_row
from luke_jax.tasks.typing.files import Example
from luke_jax.text import Example as Marked
from luke_jax.text import LukeProcessor


def features(
  processor: LukeProcessor, examples: Sequence[Example], labels: Sequence[str]
) -> list[Features]:
  """A row for each example; of a text that is too long, what stands around the mention."""
  marked = [Marked(example.text, entity_spans=[example.span]) for example in examples]
  rows = processor.windows(marked)
  return [
    from_row(row, _targets(example, labels)) for example, row in zip(examples, rows, strict=True)
  ]


def _targets(example: Example, labels: Sequence[str]) -> np.ndarray | None:
  if example.labels is None:
    return None
  return np.array([label in example.labels for label in labels], np.int32)
