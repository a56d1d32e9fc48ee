"""Inputs of texts whose entities are linked, for a system that reads vectors of them."""

import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from luke_jax.convert.parts import ModelParts
from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.formats.files import Faults, lines, parse_items, read_links, read_text
from luke_jax.formats.records import as_object, records
from luke_jax.graph.vectors import NONE
from luke_jax.inference.settings import any_processor
from luke_jax.tasks.aligned import ROWS, Aligner, check_width, open_vectors
from luke_jax.text import Processor, Row, TextInput
from luke_jax.text.alignment import AlignedEntity, Alignment, checked_links

# [Jim Henson](Q191037)
MARK = re.compile(r"\[([^\[\]]+)\]\(([^()\s]+)\)")
JSON = ".jsonl"


class LinkedText(NamedTuple):
  """A text, and the entities that it names."""

  text: str
  links: tuple[AlignedEntity, ...] = ()


def marked_text(marked: str) -> LinkedText:
  """Returns the text and the links of one whose names are marked: `[Jim Henson](Q191037) was …`."""
  text, links, done = "", [], 0
  for match in MARK.finditer(marked):
    text += marked[done : match.start()]
    links.append(AlignedEntity(match[2], len(text), len(text) + len(match[1])))
    text += match[1]
    done = match.end()
  return LinkedText(text + marked[done:], tuple(links))


def read_linked_texts(path: Path) -> Iterator[LinkedText]:
  """Yields the texts of a file: objects in lines if its name ends in .jsonl, else marked lines.

  An object has `text` or `tokens`, and `links` as in the files of tasks.
  """
  if path.suffix != JSON:
    return (marked_text(line) for _, line in lines(path) if line.strip())
  return parse_items(records(path), str(path), _parsed, Faults(), as_object)


def _parsed(value: Mapping[str, object], id: str, place: str) -> LinkedText:
  text = read_text(value, place)
  return LinkedText(text.text, read_links(value, text, place))


@dataclasses.dataclass(frozen=True, eq=False)
class AlignedTexts:
  """Texts as rows, with the ids of their entities' vectors beside the words."""

  texts: Sequence[str]
  links: Sequence[Sequence[AlignedEntity]]
  rows: Sequence[Row]
  aligner: Aligner
  processor: Processor

  def arrays(self) -> dict[str, np.ndarray]:
    """Returns the inputs of the model, with the vectors themselves."""
    arrays = self.processor.pad(self.rows)
    ids = np.full(arrays["input_ids"].shape, NONE, np.int32)
    for line, row in zip(ids, self.rows, strict=True):
      beside = _beside(row)
      line[: len(beside)] = beside
    vectors = self.aligner.vectors.at(ids)
    return arrays | {"entity_vectors": vectors, "entity_mask": (ids != NONE).astype(np.int32)}

  def pieces(self, number: int) -> list[list[str]]:
    """Returns for each link of a text the word pieces that its entity is beside."""
    text, row, beside = self.texts[number], self.rows[number], _beside(self.rows[number])
    ids = self.aligner.vectors.find([link.entity for link in self.links[number]])
    return [
      [
        text[start:end]
        for (start, end), aligned in zip(row.offsets, beside, strict=True)
        if aligned == id != NONE and link.start <= start < end <= link.end
      ]
      for link, id in zip(self.links[number], ids, strict=True)
    ]

  def reason(self, link: AlignedEntity) -> str:
    """Returns why an entity is beside no piece."""
    if link.entity not in self.aligner.vectors.ids.of:
      return "no vector"
    if link.score <= self.aligner.threshold:
      return f"score {link.score:g}, not above {self.aligner.threshold:g}"
    return "begins inside of a word, or where another link does"


def aligned_texts(
  model: ModelParts,
  texts: Sequence[str],
  links: Sequence[object],
  *,
  vectors: str | Path,
  threshold: float = 0.0,
  alignment: Alignment = "first",
) -> AlignedTexts:
  """Returns texts with the entities of their links beside the words.

  `links` has a list for each text, of (entity, start, end) or with a score, such as a linker
  returns. Entities without a vector are aligned to nothing.
  """
  if isinstance(texts, str) or len(texts) != len(links):
    raise InputError(f"links: {len(links)} lists; expected one for each text of a list")
  processor = any_processor(model)
  starts = processor.tokenizer.word_starts()
  if starts is None or not model.backbone.decoders.vectors:
    raise InputError(f"a {model.config.title}; expected a system that reads vectors of entities")
  table = open_vectors(str(vectors))
  check_width(table, model.backbone)
  checked = [
    checked_links(of_one, len(text), f"text {number}")
    for number, (text, of_one) in enumerate(zip(texts, links, strict=True))
  ]
  aligner = Aligner(table, starts, alignment, threshold)
  rows = processor.encode([TextInput(text) for text in texts], offsets=True)
  beside = [aligner.row(row, links_of_row) for row, links_of_row in zip(rows, checked, strict=True)]
  return AlignedTexts(texts, checked, beside, aligner, processor)


def aligned_inputs(
  model: ModelParts, texts: Sequence[str], links: Sequence[Any], **settings: Any
) -> dict[str, np.ndarray]:
  """Returns the inputs of a model for texts with links; `settings` are those of `aligned_texts`.

  A warning counts the entities without a vector, which are aligned to nothing.
  """
  aligned = aligned_texts(model, texts, links, **settings)
  aligned.aligner.report([link for of_one in aligned.links for link in of_one])
  return aligned.arrays()


def _beside(row: Row) -> np.ndarray:
  return (row.extra or {})[ROWS]
