"""Pretraining on made-up text: for tests, for measurements, and for plans that need only shapes."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from luke_jax.errors import InputError
from luke_jax.heads.kinds import make_head
from luke_jax.models import network
from luke_jax.models.family import Backbone
from luke_jax.models.network import Network
from luke_jax.nn.losses import IGNORED, mean_where

FIRST_WORD, FIRST_ENTITY = 5, 4  # after the special ones
WORD_MASK, ENTITY_MASK = 4, 2
ENTITY_EVERY = 4  # words


@dataclasses.dataclass(frozen=True)
class Page:
  """A made-up page: its words count up from a number, its entities are ENTITY_EVERY words apart."""

  words: np.ndarray  # (words,)
  entities: np.ndarray  # (entities,)
  starts: np.ndarray  # (entities,)


@dataclasses.dataclass(frozen=True)
class Pages:
  """Made-up pages, made on demand."""

  count: int
  words: int
  entities: int
  word_vocabulary: int
  entity_vocabulary: int
  first: int = 0

  def __len__(self) -> int:
    return self.count

  def __getitem__(self, index: int) -> Page:
    rng = np.random.default_rng(self.first + index)
    length = rng.integers(self.words // 2, self.words + 1)
    start, stride = rng.integers(0, 50), rng.integers(1, 4)
    numbers = start + stride * np.arange(length)
    starts = np.arange(1, length, ENTITY_EVERY)[: self.entities]
    return Page(
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
class SyntheticPretraining:
  """Prediction of masked words and entities of made-up pages."""

  pages: int = 4096
  words: int = 512  # the longest text
  entities: int = 128
  mention: int = 30  # positions of a mention
  masked: float = 0.15

  head = "masked"
  text_directory = None

  def __post_init__(self) -> None:
    for name in ("pages", "words", "entities", "mention"):
      number = getattr(self, name)
      if type(number) is not int or number < 1:
        raise InputError(f"task.{name}: {number!r}; expected a whole number from 1")
    if not 0 < self.masked <= 1:
      raise InputError(f"task.masked: {self.masked!r}; expected a share above 0 and at most 1")

  def initial_params(self, backbone: Backbone, key: jax.Array) -> dict:
    """Returns fresh parameters."""
    return network.initial_params(_network(backbone), key)

  def loss(
    self, backbone: Backbone, params: dict, batch: dict, key: jax.Array | None
  ) -> tuple[jax.Array, dict[str, jax.Array]]:
    """Returns the sum of the mean losses of masked words and masked entities."""
    losses = _losses(backbone, params, batch, key)
    words = mean_where(losses["word_losses"], batch["labels"] != IGNORED)
    entities = mean_where(losses["entity_losses"], batch["entity_labels"] != IGNORED)
    tokens = batch["attention_mask"].sum()
    return words + entities, {"word_loss": words, "entity_loss": entities, "tokens": tokens}

  def records(self, backbone: Backbone, split: str) -> Pages:
    """Returns the pages of "train", or an eighth as many others for "dev"."""
    _check(backbone)
    count = self.pages if split == "train" else max(1, self.pages // 8)
    first = 0 if split == "train" else 2**40
    vocabularies = (backbone.config.vocab_size, backbone.entities)
    return Pages(count, self.words, self.entities, *vocabularies, first=first)

  def row_shapes(self, backbone: Backbone) -> dict[str, jax.ShapeDtypeStruct]:
    """Returns the shapes of one row of a batch."""
    _check(backbone)
    words, entities = self._most_masked()
    shapes = {
      "input_ids": (self.words,),
      "attention_mask": (self.words,),
      "entity_ids": (self.entities,),
      "entity_attention_mask": (self.entities,),
      "entity_position_ids": (self.entities, self.mention),
      "masked_positions": (words,),
      "labels": (words,),
      "masked_entity_positions": (entities,),
      "entity_labels": (entities,),
    }
    return {name: jax.ShapeDtypeStruct(shape, jnp.int32) for name, shape in shapes.items()}

  def _most_masked(self) -> tuple[int, int]:
    return tuple(max(1, round(self.masked * n)) for n in (self.words, self.entities))  # type: ignore

  def rows(
    self, backbone: Backbone, records: Sequence[Any], rngs: Sequence[np.random.Generator]
  ) -> dict[str, np.ndarray]:
    """Pads and masks every page."""
    shapes = self.row_shapes(backbone)
    padding = {"input_ids": backbone.config.pad_token_id, "entity_position_ids": -1}
    padding |= {"labels": IGNORED, "entity_labels": IGNORED}
    rows = {
      name: np.full((len(records), *row.shape), padding.get(name, 0), np.int32)
      for name, row in shapes.items()
    }
    for i, (page, rng) in enumerate(zip(records, rngs, strict=True)):
      row = {name: x[i] for name, x in rows.items()}
      words, entities = len(page.words), len(page.entities)
      row["input_ids"][:words], row["attention_mask"][:words] = page.words, 1
      row["entity_ids"][:entities], row["entity_attention_mask"][:entities] = page.entities, 1
      row["entity_position_ids"][:entities, 0] = page.starts
      self._mask(rng, row["input_ids"][:words], WORD_MASK, row["masked_positions"], row["labels"])
      ids, positions = row["entity_ids"][:entities], row["masked_entity_positions"]
      self._mask(rng, ids, ENTITY_MASK, positions, row["entity_labels"])
    return rows

  def _mask(self, rng: np.random.Generator, ids: np.ndarray, mask: int, *targets: np.ndarray):
    """Masks a share of the ids; stores their positions and values."""
    positions, labels = targets
    number = min(len(positions), max(1, round(self.masked * len(ids))))
    chosen = np.sort(rng.choice(len(ids), number, replace=False))
    positions[:number], labels[:number] = chosen, ids[chosen]
    ids[chosen] = mask

  def predict(self, backbone: Backbone, params: dict, batch: dict) -> dict[str, jax.Array]:
    """Returns the losses of every row's masked tokens, and their number."""
    losses = _losses(backbone, params, batch, None)
    return {
      "words": losses["word_losses"].sum(-1),
      "word_count": (batch["labels"] != IGNORED).sum(-1),
      "entities": losses["entity_losses"].sum(-1),
      "entity_count": (batch["entity_labels"] != IGNORED).sum(-1),
    }

  def score(self, records: Any, predictions: dict[str, np.ndarray]) -> dict[str, float]:
    """Returns the likelihood of masked tokens: the inverse of the perplexity."""
    sums = {name: float(x.sum()) for name, x in predictions.items()}
    return {
      "word_likelihood": float(np.exp(-sums["words"] / max(1, sums["word_count"]))),
      "entity_likelihood": float(np.exp(-sums["entities"] / max(1, sums["entity_count"]))),
    }


def _losses(backbone: Backbone, params: dict, batch: dict, key: jax.Array | None) -> dict:
  rngs = {} if key is None else {"dropout": key}
  losses: Any = _network(backbone).apply({"params": params}, **batch, rngs=rngs)
  return losses


def _network(backbone: Backbone) -> Network:
  return Network(backbone, make_head(SyntheticPretraining.head, backbone))
