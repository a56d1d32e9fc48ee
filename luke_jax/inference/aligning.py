"""Inputs of texts whose entities are linked, for a system that reads vectors of them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from luke_jax.convert.parts import ModelParts
from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.graph.vectors import NONE
from luke_jax.inference.settings import any_processor
from luke_jax.tasks.aligned import ROWS, Aligner, check_width, open_vectors
from luke_jax.text import TextInput
from luke_jax.text.alignment import Alignment, checked_links


def aligned_inputs(
  model: ModelParts,
  texts: Sequence[str],
  links: Sequence[Any],
  *,
  vectors: str | Path,
  threshold: float = 0.0,
  alignment: Alignment = "first",
) -> dict[str, np.ndarray]:
  """Returns the inputs of a model for texts, with the vectors of their entities beside the words.

  `links` has a list for each text, of (entity, start, end) or with a score, such as a linker
  returns. Entities without a vector are aligned to nothing, and a warning counts them.
  """
  if isinstance(texts, str) or len(texts) != len(links):
    raise InputError(f"links: {len(links)} lists; expected one for each text of a list")
  processor = any_processor(model)
  starts = processor.tokenizer.word_starts()
  if starts is None or not model.backbone.decoders.vectors:
    raise InputError(f"a {model.family.title}; expected a system that reads vectors of entities")
  table = open_vectors(str(vectors))
  check_width(table, model.backbone)
  checked = [
    checked_links(of_one, len(text), f"text {number}")
    for number, (text, of_one) in enumerate(zip(texts, links, strict=True))
  ]
  aligner = Aligner(table, starts, alignment, threshold)
  aligner.report([link for of_one in checked for link in of_one])
  rows = processor.encode([TextInput(text) for text in texts], offsets=True)
  arrays = processor.pad(rows)
  ids = np.full(arrays["input_ids"].shape, NONE, np.int32)
  for line, row, of_one in zip(ids, rows, checked, strict=True):
    beside = (aligner.row(row, of_one).extra or {})[ROWS]
    line[: len(beside)] = beside
  return arrays | {"entity_vectors": table.at(ids), "entity_mask": (ids != NONE).astype(np.int32)}
