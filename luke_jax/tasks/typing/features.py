"""Examples of entity typing as rows: the mention between markers, one `[MASK]` entity."""

from collections.abc import Sequence

import numpy as np

from luke_jax.tasks.aligned import Aligner
from luke_jax.tasks.files import Faults
from luke_jax.tasks.marked import marked_rows
from luke_jax.tasks.typing.files import Example
from luke_jax.text import Processor, Row


def features(
  processor: Processor,
  examples: Sequence[Example],
  labels: Sequence[str],
  faults: Faults,
  *,
  aligner: Aligner | None = None,
) -> list[Row]:
  """A row for each example; of a text that is too long, what stands around the mention."""
  spans = [[example.span] for example in examples]
  rows = marked_rows(processor, examples, spans, faults, aligner=aligner)
  return [row.labelled(_targets(examples[row.example], labels)) for row in rows]


def _targets(example: Example, labels: Sequence[str]) -> np.ndarray | None:
  if example.labels is None:
    return None
  return np.array([label in example.labels for label in labels], np.int32)
