"""Pretraining on made-up text: for tests, for measuring, and for plans that need shapes only."""

import dataclasses
from collections.abc import Sequence
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from luke_jax.errors import InputError, check_whole
from luke_jax.models.system import Backbone
from luke_jax.nn.losses import IGNORED
from luke_jax.pipeline.reads import Reads
from luke_jax.pipeline.rows import RowSizes
from luke_jax.tasks.pretraining import MaskedPrediction
from luke_jax.text.rows import Row, padded
from luke_jax.training.task import Batch, Params

FIRST_WORD, FIRST_ENTITY = 5, 4  # after the special ones
WORD_MASK, ENTITY_MASK = 4, 2
ENTITY_EVERY = 4  # words


@dataclasses.dataclass(frozen=True)
class NumberedPage:
  """A made-up page: its words count up from a number, its entities are as many words apart."""

  words: np.ndarray  # (words,)
  entities: np.ndarray  # (entities,)
  starts: np.ndarray  # (entities,)


@dataclasses.dataclass(frozen=True)
class Pages:
  """Pages that are made when they are asked for."""

  count: int
  words: int
  entities: int
  word_vocabulary: int
  entity_vocabulary: int
  first: int = 0

  def __len__(self) -> int:
    return self.count

  def __getitem__(self, index: int) -> NumberedPage:
    rng = np.random.default_rng(self.first + index)
    length = rng.integers(self.words // 2, self.words + 1)
    start, stride = rng.integers(0, 50), rng.integers(1, 4)
    numbers = start + stride * np.arange(length)
    starts = np.arange(1, length, ENTITY_EVERY)[: self.entities]
    return NumberedPage(
      FIRST_WORD + numbers % (self.word_vocabulary - FIRST_WORD),
      FIRST_ENTITY + numbers[starts] % (self.entity_vocabulary - FIRST_ENTITY),
      starts,
    )


def _check(backbone: Backbone) -> None:
  if backbone.entities <= FIRST_ENTITY:
    raise InputError(
      f"model.entity_vocab_size: {backbone.entities}; expected more than {FIRST_ENTITY}, for"
      " these pages have entities"
    )


@dataclasses.dataclass(frozen=True)
class SyntheticPretraining(MaskedPrediction):
  """Masked words and entities of made-up pages."""

  pages: int = 4096
  words: int = 512  # the longest text
  entities: int = 128
  mention: int = 30  # positions of a mention
  masked: float = 0.15

  name: ClassVar[str] = "synthetic"
  heads: ClassVar[tuple[str, ...]] = ("masked",)

  def __post_init__(self) -> None:
    numbers = {"pages": self.pages, "words": self.words}
    numbers |= {"entities": self.entities, "mention": self.mention}
    check_whole(1, **{f"task.{name}": number for name, number in numbers.items()})
    if not 0 < self.masked <= 1:
      raise InputError(f"task.masked: {self.masked!r}; expected a share above 0 and at most 1")

  def reads(self) -> Reads:
    """Returns no files."""
    return Reads()

  def records(self, backbone: Backbone, split: str) -> Pages:
    """Pages of "train", or an eighth as many others of "dev"."""
    _check(backbone)
    count = self.pages if split == "train" else max(1, self.pages // 8)
    first = 0 if split == "train" else 2**40
    vocabularies = (backbone.config.vocab_size, backbone.entities)
    return Pages(count, self.words, self.entities, *vocabularies, first=first)

  def row_shapes(self, backbone: Backbone) -> dict[str, jax.ShapeDtypeStruct]:
    """Shapes of one row of a batch."""
    _check(backbone)
    shapes = self._sizes().shapes
    return {name: jax.ShapeDtypeStruct(shape, jnp.int32) for name, shape in shapes.items()}

  def _sizes(self) -> RowSizes:
    words, entities = (max(1, round(self.masked * n)) for n in (self.words, self.entities))
    return RowSizes(self.words, self.entities, self.mention, words, entities)

  def rows(
    self, backbone: Backbone, records: Sequence[Any], rngs: Sequence[np.random.Generator]
  ) -> dict[str, np.ndarray]:
    """Pads and masks every page."""
    room, pad = self._sizes(), backbone.config.pad_token_id
    pages = zip(records, rngs, strict=True)
    rows = [self._row(page, rng, room) for page, rng in pages]
    return padded(rows, room.sizes, pad, 0, names=room.names, extra=room.extra)

  def _row(self, page: NumberedPage, rng: np.random.Generator, room: RowSizes) -> Row:
    extra = {}
    words, extra["masked_positions"] = self._mask(rng, page.words, WORD_MASK, room.masked_words)
    entities, places = self._mask(rng, page.entities, ENTITY_MASK, room.masked_entities)
    extra |= {"masked_entity_positions": places, "entity_labels": page.entities[places]}
    tokens = np.stack([page.starts, page.starts + 1], axis=1)
    return Row(0, words, entities, tokens, page.words[extra["masked_positions"]], extra=extra)

  def _mask(
    self, rng: np.random.Generator, ids: np.ndarray, mask: int, slots: int
  ) -> tuple[np.ndarray, np.ndarray]:
    """Returns the ids with a share of them masked, and the masked positions."""
    number = min(slots, max(1, round(self.masked * len(ids))))
    places = np.sort(rng.choice(len(ids), number, replace=False))
    masked = ids.copy()
    masked[places] = mask
    return masked, places

  def predict(self, backbone: Backbone, params: Params, batch: Batch) -> dict[str, jax.Array]:
    """Losses of every row's masked tokens, and how many there were."""
    losses = self.scores(backbone, params, batch, None)
    return {
      "words": losses["word_losses"].sum(-1),
      "word_count": (batch["labels"] != IGNORED).sum(-1),
      "entities": losses["entity_losses"].sum(-1),
      "entity_count": (batch["entity_labels"] != IGNORED).sum(-1),
    }

  def score(self, records: object, predictions: dict[str, np.ndarray]) -> dict[str, float]:
    """Returns the inverse of the perplexity of the masked tokens: higher is better."""
    sums = {name: float(x.sum()) for name, x in predictions.items()}
    return {
      "word_likelihood": float(np.exp(-sums["words"] / max(1, sums["word_count"]))),
      "entity_likelihood": float(np.exp(-sums["entities"] / max(1, sums["entity_count"]))),
    }
