"""Examples of relation classification as rows: head and tail between markers, and as entities."""

from collections.abc import Sequence

import numpy as np

from luke_jax.nn.losses import IGNORED
from luke_jax.tasks.aligned import Aligner
from luke_jax.tasks.files import Faults
from luke_jax.tasks.marked import marked_rows
from luke_jax.tasks.relations.files import Example
from luke_jax.text import Processor, Row


def features(
  processor: Processor,
  examples: Sequence[Example],
  labels: Sequence[str],
  faults: Faults,
  *,
  aligner: Aligner | None = None,
) -> list[Row]:
  """A row for each example; of a text that is too long, what stands around the two entities."""
  spans = [[example.head, example.tail] for example in examples]
  numbers = {label: number for number, label in enumerate(labels)}
  return [
    row.labelled(_target(examples[row.example].label, numbers))
    for row in marked_rows(processor, examples, spans, faults, aligner=aligner)
  ]


def _target(label: str | None, numbers: dict[str, int]) -> np.ndarray | None:
  return None if label is None else np.array(numbers.get(label, IGNORED), np.int32)
