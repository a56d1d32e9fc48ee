"""Entities of examples beside the words of their rows, for a system that reads their vectors."""

import dataclasses
import warnings
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.formats.files import Faults
from luke_jax.graph import vectors as graph_vectors
from luke_jax.graph.vectors import NONE, Vectors
from luke_jax.models.system import Backbone
from luke_jax.pipeline.reads import Reads, cached
from luke_jax.tasks.contract import ExtraInputs
from luke_jax.text import Processor, Row, TextInput, Tokenizer
from luke_jax.text.alignment import NO_LINK, AlignedEntity, Alignment, align
from luke_jax.text.parts import after_space
from luke_jax.text.rows import Room
from luke_jax.text.tokenizer import Bounds

ROWS = "entity_rows"  # of a row's `extra`: the ids of the vectors beside its words


@cached(4)
def open_vectors(folder: str) -> Vectors:
  """Returns the vectors of a folder, opened once in a process."""
  return graph_vectors.open_vectors(folder)


def vector_reads(folder: str) -> Reads:
  """Returns the files of the vectors of a folder."""
  ids, table = graph_vectors.vector_files(Path(folder))
  return Reads((str(ids),), (str(table),))


@dataclasses.dataclass(frozen=True, eq=False)
class Aligner:
  """Puts the ids of linked entities beside the words of rows."""

  vectors: Vectors
  starts_word: np.ndarray  # (V,)
  how: Alignment
  threshold: float  # of a link's score, above which it is read

  def row(self, row: Row, links: Sequence[AlignedEntity]) -> Row:
    """Returns a row, which has the offsets of its words, with the ids beside them."""
    sure = [link for link in links if link.score > self.threshold]
    ids = self.vectors.find([link.entity for link in sure])
    with_rows = [link for link, id in zip(sure, ids, strict=True) if id != NONE]
    begins = self.starts_word[row.input_ids]
    slots = align(row.offsets, begins, [(link.start, link.end) for link in with_rows], self.how)
    beside = np.append(ids[ids != NONE], NONE)[slots]
    beside[slots == NO_LINK] = NONE
    return dataclasses.replace(row, extra={**(row.extra or {}), ROWS: beside})

  def report(self, links: Sequence[AlignedEntity]) -> None:
    """Warns of links to entities without a vector, which are aligned to nothing."""
    unknown = [link.entity for link in links if link.entity not in self.vectors.ids.of]
    if unknown:
      warnings.warn(
        f"{self.vectors.folder}: no vectors of {len(unknown)} of {len(links)} linked entities, such"
        f" as {unknown[0]}; they are aligned to nothing",
        stacklevel=2,
      )


@dataclasses.dataclass(frozen=True)
class AlignedVectors(ExtraInputs):
  """Vectors of the entities that an example links, beside the words of their mentions."""

  folder: str
  alignment: Alignment
  threshold: float  # of a link's score, above which it is read

  def aligner(self, tokenizer: Tokenizer) -> Aligner:
    """Returns the aligner, which puts the links of examples beside the words of their rows."""
    starts = tokenizer.word_starts()
    if starts is None:
      raise InputError(
        "vectors: the tokenizer's pieces do not show where words begin; expected none"
      )
    return Aligner(open_vectors(self.folder), starts, self.alignment, self.threshold)

  def reads(self) -> Reads:
    """Returns the files of the vectors."""
    return vector_reads(self.folder)

  def check(self, backbone: Backbone) -> None:
    """Raises InputError for vectors that the model cannot read."""
    if not backbone.decoders.vectors:
      raise InputError(
        f"task.vectors: {self.folder}; expected none, for {backbone.config.title} reads no vectors"
      )
    check_width(open_vectors(self.folder), backbone)

  def rooms(self, backbone: Backbone, words: int) -> dict[str, Room]:
    """Returns the room for ids beside the words of a row."""
    return {ROWS: Room((words,), NONE)}

  def shapes(self, backbone: Backbone, words: int) -> dict[str, jax.ShapeDtypeStruct]:
    """Returns the shapes of a row's vectors, and of the mask of words that have one."""
    width = backbone.decoders.vectors
    if not width:
      return {}
    return {
      "entity_vectors": jax.ShapeDtypeStruct((words, width), jnp.float32),
      "entity_mask": jax.ShapeDtypeStruct((words,), jnp.int32),
    }

  def batch(self, backbone: Backbone, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Returns a batch with vectors in the place of ids; without both for systems of words only."""
    ids = arrays.pop(ROWS)
    if not backbone.decoders.vectors:
      return arrays
    vectors = open_vectors(self.folder).at(ids)
    return arrays | {"entity_vectors": vectors, "entity_mask": (ids != NONE).astype(np.int32)}


def check_width(vectors: Vectors, backbone: Backbone) -> None:
  """Raises InputError for vectors of another width than the model reads."""
  width = backbone.decoders.vectors
  if vectors.width != width:
    raise InputError(
      f"{vectors.folder}: vectors of width {vectors.width}; expected {width}, as"
      " model.entity_size has it"
    )


@dataclasses.dataclass(frozen=True)
class MarkedEntities:
  """Settings of a task about marked entities of texts, which may read vectors of those it links."""

  mention: int = 30  # positions of each entity, its markers included
  vectors: str = ""  # the folder of entities' vectors, for a system that reads them
  link_threshold: float = 0.0  # the score above which a link of an example counts
  alignment: Alignment = "first"  # the pieces of a mention that its entity is beside
  authors: bool = False  # rows and losses of the authors' code, see docs/differences.md

  @property
  def extra_inputs(self) -> tuple[AlignedVectors, ...]:
    """Returns the vectors of the entities that examples link, if a folder has them."""
    aligned = AlignedVectors(self.vectors, self.alignment, self.link_threshold)
    return (aligned,) if self.vectors else ()

  def marked_rows(
    self,
    processor: Processor,
    examples: Sequence[Any],
    spans: Sequence[Sequence[Bounds]],
    faults: Faults,
  ) -> list[Row]:
    """Returns a row for each example; of a text that is too long, the part around its entities.

    With vectors, the entities that the examples link are beside the words.

    An example has a fault if its entities are too far apart for one row, or if one of them holds no
    token. With faults skipped, it has no row.
    """
    if self.authors:
      processor = dataclasses.replace(processor, read_as=after_space)
    marked = [
      TextInput(x.text, entity_spans=of_one) for x, of_one in zip(examples, spans, strict=True)
    ]
    aligners = [inputs.aligner(processor.tokenizer) for inputs in self.extra_inputs]
    offsets = bool(aligners)
    try:
      rows = processor.windows(marked, offsets=offsets)
    except InputError:  # one by one, to report the faulty examples
      rows = []
      for number, (example, text) in enumerate(zip(examples, marked, strict=True)):
        with faults.caught():
          windows = _windows(processor, text, example, offsets=offsets)
          rows += [dataclasses.replace(x, example=number) for x in windows]
    for aligner in aligners:
      aligner.report([link for example in examples for link in example.links])
      rows = [aligner.row(row, examples[row.example].links) for row in rows]
    return rows


def _windows(processor: Processor, text: TextInput, example: Any, *, offsets: bool) -> list[Row]:
  try:
    return processor.windows([text], offsets=offsets)
  except InputError as fault:
    message = str(fault).removeprefix("example 0: ")
    raise InputError(f"{example.place}: {message}") from None
