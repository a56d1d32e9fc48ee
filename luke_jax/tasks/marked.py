"""Rows for the tasks that mark their entities in the text: one row for each example."""

import dataclasses
from collections.abc import Sequence
from typing import Any

from luke_jax.errors import InputError
from luke_jax.formats.files import Faults
from luke_jax.tasks.aligned import Aligner
from luke_jax.text import Processor, Row, TextInput
from luke_jax.text.tokenizer import Bounds


def marked_rows(
  processor: Processor,
  examples: Sequence[Any],
  spans: Sequence[Sequence[Bounds]],
  faults: Faults,
  *,
  aligner: Aligner | None = None,
) -> list[Row]:
  """Returns a row for each example; of a text that is too long, the part around its entities.

  With an aligner, the entities that the examples link are beside the words.

  An example has a fault if its entities are too far apart for one row, or if one of them holds no
  token. With faults skipped, it has no row.
  """
  marked = [
    TextInput(x.text, entity_spans=of_one) for x, of_one in zip(examples, spans, strict=True)
  ]
  offsets = aligner is not None
  try:
    rows = processor.windows(marked, offsets=offsets)
  except InputError:  # one by one, to report the faulty examples
    rows = []
    for number, (example, text) in enumerate(zip(examples, marked, strict=True)):
      with faults.caught():
        windows = _windows(processor, text, example, offsets=offsets)
        rows += [dataclasses.replace(x, example=number) for x in windows]
  if aligner is None:
    return rows
  aligner.report([link for example in examples for link in example.links])
  return [aligner.row(row, examples[row.example].links) for row in rows]


def _windows(processor: Processor, text: TextInput, example: Any, *, offsets: bool) -> list[Row]:
  try:
    return processor.windows([text], offsets=offsets)
  except InputError as fault:
    message = str(fault).removeprefix("example 0: ")
    raise InputError(f"{example.place}: {message}") from None
