"""Pretraining of ERNIE of Baidu: words of masked units, and whether a text is a true one."""

import bisect
import dataclasses
import itertools
from collections.abc import Sequence
from typing import ClassVar, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from luke_jax.errors import InputError, check_whole
from luke_jax.models.system import Backbone
from luke_jax.nn.losses import IGNORED
from luke_jax.pipeline.reads import Reads, cached
from luke_jax.pipeline.rows import Masked, MaskIds
from luke_jax.systems.ernie_baidu.units import (
  CONTINUED,
  FIRST,
  SPECIAL,
  UnitInstance,
  UnitInstances,
  read_units,
)
from luke_jax.tasks.pretraining import SentencePretraining
from luke_jax.text import Tokenizer, load_tokenizer
from luke_jax.training.task import Batch, Params

SELECTED_SHARE = 0.15  # of the units that are selected
_RANDOM, _KEPT = 0.2, 0.1  # below which a random word replaces a selected one, or it stays


class Texts(NamedTuple):
  """Texts one after the other: ids, types and unit labels of all words, and the texts' lengths."""

  ids: np.ndarray  # (all words,)
  types: np.ndarray
  units: np.ndarray  # the first word of a text begins one, or is a special token
  lengths: np.ndarray  # (texts,)


def single(units: np.ndarray) -> np.ndarray:
  """Returns labels of units by which every word is one."""
  return np.where(units == SPECIAL, SPECIAL, FIRST)


def mask_units(
  ids: np.ndarray, units: np.ndarray, draws: np.ndarray, others: np.ndarray, mask: int
) -> Masked:
  """Returns words masked by draws (W,) from 0 to 1, and the places that are to be predicted.

  A unit is selected if the draw of its first word is at most 0.15. Then the same draw decides what
  replaces that word, and each other word's own draw what replaces that one: `mask`, the random word
  of `others`, or itself.
  """
  starts = np.where(units != CONTINUED, np.arange(len(ids)), 0)
  first = np.maximum.accumulate(starts)
  selected = (draws[first] <= SELECTED_SHARE) & (units != SPECIAL)
  # A selected first word's draw is no more than the share, another's anything.
  room = np.where(units == FIRST, SELECTED_SHARE, 1.0)
  changed = np.where(draws > _RANDOM * room, mask, others)
  changed = np.where(draws <= _KEPT * room, ids, changed)
  return Masked(np.where(selected, changed, ids), np.flatnonzero(selected))


def masked_texts(
  texts: Texts, vocabulary: MaskIds, rngs: Sequence[np.random.Generator], slots: int
) -> Masked:
  """Returns the words of texts, each masked by a generator of its own, and the places to predict.

  Of more than `slots` selected words of a text, the last units stay as they are.
  """
  ids, units, lengths = texts.ids, texts.units, texts.lengths.tolist()
  draws, others = [], []
  for rng, length in zip(rngs, lengths, strict=True):
    draws.append(rng.random(length))
    others.append(rng.integers(vocabulary.first, vocabulary.stop, length))
  masked = mask_units(ids, units, np.concatenate(draws), np.concatenate(others), vocabulary.mask)
  bounds = np.searchsorted(masked.places, np.cumsum([0, *lengths])).tolist()
  predicted = np.ones(len(masked.places), bool)
  for start, stop in itertools.pairwise(bounds):
    if stop - start > slots:
      end = start + slots
      while end > start and units[masked.places[end]] == CONTINUED:
        end -= 1
      predicted[end:stop] = False
  if not predicted.all():
    spared = masked.places[~predicted]
    masked.ids[spared] = ids[spared]
  return Masked(masked.ids, masked.places[predicted])


def unit_arrays(
  texts: Texts, masked: Masked, pad: int, *, words: int, slots: int
) -> dict[str, np.ndarray]:
  """Returns the words (B, W), padded, and the masked ones (B, P), of which each text has a few."""
  shape, targets = (len(texts.lengths), words), (len(texts.lengths), slots)
  ids, types = np.full(shape, pad, np.int32), np.zeros(shape, np.int32)
  positions, labels = np.zeros(targets, np.int32), np.full(targets, IGNORED, np.int32)
  inside = np.arange(words) < texts.lengths[:, None]
  ids[inside], types[inside] = masked.ids, texts.types
  ends = np.cumsum(texts.lengths)
  text = np.searchsorted(ends, masked.places, side="right")
  used = np.arange(slots) < np.bincount(text, minlength=len(ends))[:, None]
  positions[used] = masked.places - (ends - texts.lengths)[text]
  labels[used] = texts.ids[masked.places]
  return {
    "input_ids": ids,
    "attention_mask": inside.astype(np.int32),
    "token_type_ids": types,
    "masked_positions": positions,
    "labels": labels,
  }


Arrays = dict[str, np.ndarray]
BASIC = "basic"


@dataclasses.dataclass(frozen=True)
class UnitPretraining(SentencePretraining):
  """Prediction of words of masked units, and of true pairs or dialogues (Sun et al., 2019, §3).

  A stage of the paper is a run whose mixture has one level only: single words (basic), phrases, or
  entities. Files come from `python -m data.ernie_baidu.units`, or are those of ERNIE's authors.
  """

  files: tuple[str, ...] = ()  # of instances
  levels: tuple[str, ...] = ("phrase",)  # of the unit labels that the files have, in their order
  mask_mode: Literal["mixture", "file"] = "mixture"  # the level is drawn for a text, or for a file
  # Shares of the texts that are masked by single words and by each of the levels; none: the first
  # level alone.
  mixture: tuple[float, ...] = ()
  # With mask_mode=file: for each of the files, the share of the epochs in which it is masked by
  # units, and not by single words. From 1 always.
  unit_shares: tuple[float, ...] = ()
  words: int = 512  # the longest text, special tokens included
  masked: int = 128  # the most words of a text that are predicted
  dev_instances: int = 1024  # at most

  name: ClassVar[str] = "unit_pretraining"

  def __post_init__(self) -> None:
    super().__post_init__()
    check_whole(8, words=self.words)
    check_whole(1, masked=self.masked, dev_instances=self.dev_instances)
    if not self.levels:
      raise InputError("levels: none; expected a name for each field of unit labels")
    count = 1 + len(self.levels)
    shares = self.mixture
    if shares and (len(shares) != count or min(shares) < 0 or abs(sum(shares) - 1) > 1e-6):
      names = ", ".join((BASIC, *self.levels))
      raise InputError(f"mixture: {shares}; expected {count} shares that make 1: {names}")
    if self.mask_mode == "file" and (shares or len(self.unit_shares) != len(self.files)):
      raise InputError(
        f"unit_shares: {len(self.unit_shares)} of them; expected one for each of {len(self.files)}"
        " files, and no mixture"
      )

  def reads(self) -> Reads:
    """Returns the files of instances."""
    return Reads(parts=self.files)

  def records(self, backbone: Backbone, split: str) -> UnitInstances:
    """Returns the first instances of each file as "train", and the last as "dev"."""
    for name, expected in (("files", "files of instances"), ("text", "a tokenizer's directory")):
      if not getattr(self, name):
        raise InputError(f"task.{name}: empty; expected {expected}")
    room = min(self.words, backbone.config.room_for_words)
    for path in self.files:
      size = backbone.config.vocab_size
      longest, highest = read_units(path, len(self.levels)).sizes
      if longest > room:
        raise InputError(f"task.words: {room}; expected {longest}, the longest text of {path}")
      if highest >= size:
        raise InputError(f"{path}: id {highest}; expected ids below {size}, the model's words")
    return UnitInstances(self.files, len(self.levels), self.held_out, split, self.dev_instances)

  def lengths(self, records: UnitInstances) -> np.ndarray:
    """Returns the words of every instance."""
    return records.lengths

  def row_shapes(self, backbone: Backbone) -> dict[str, jax.ShapeDtypeStruct]:
    """Returns the shapes of one row of a batch."""
    names = ("input_ids", "attention_mask", "token_type_ids")
    shapes: dict[str, tuple[int, ...]] = dict.fromkeys(names, (self.words,))
    shapes |= dict.fromkeys(("masked_positions", "labels"), (self.masked,))
    shapes["next_sentence_labels"] = ()
    return {name: jax.ShapeDtypeStruct(shape, jnp.int32) for name, shape in shapes.items()}

  def rows(
    self, backbone: Backbone, records: Sequence[UnitInstance], rngs: Sequence[np.random.Generator]
  ) -> Arrays:
    """Masks and pads instances; the label of a true pair or dialogue is 1."""
    special = _tokenizer(self.text).special
    # As in the released program, any row of the table but that of padding may replace a word.
    vocabulary = MaskIds(special.mask, special.pad + 1, backbone.config.vocab_size)
    levels = self._levels(records, rngs)
    units = [
      x.units[level - 1] if level else single(x.units[0])
      for x, level in zip(records, levels, strict=True)
    ]
    texts = Texts(
      np.concatenate([record.input_ids for record in records]),
      np.concatenate([record.token_type_ids for record in records]),
      np.concatenate(units),
      np.array([len(record.input_ids) for record in records]),
    )
    masked = masked_texts(texts, vocabulary, rngs, self.masked)
    pad = backbone.config.pad_token_id
    arrays = unit_arrays(texts, masked, pad, words=self.words, slots=self.masked)
    return arrays | {"next_sentence_labels": np.array([x.true for x in records], np.int32)}

  def _levels(
    self, records: Sequence[UnitInstance], rngs: Sequence[np.random.Generator]
  ) -> list[int]:
    """Returns by which level each instance is masked: 0 for single words."""
    if self.mask_mode == "file":
      files = zip(records, rngs, strict=True)
      return [int(self._by_units(record.file, rng)) for record, rng in files]
    shares = self.mixture or (0.0, 1.0, *(0.0,) * (len(self.levels) - 1))
    ends = np.cumsum(shares[:-1]).tolist()
    return [bisect.bisect_right(ends, rng.random()) for rng in rngs]

  def _by_units(self, file: int, rng: np.random.Generator) -> bool:
    """Draws once for a file and an epoch, which is that of the row's place in the stream."""
    seed, position = rng.bit_generator.seed_seq.entropy  # type: ignore[attr-defined]
    epoch = position // len(self._train)
    return np.random.default_rng((seed, epoch, file)).random() < self.unit_shares[file]

  @property
  def _train(self) -> UnitInstances:
    return UnitInstances(self.files, len(self.levels), self.held_out, "train", 1)

  def predict(self, backbone: Backbone, params: Params, batch: Batch) -> dict[str, jax.Array]:
    """Returns the sums of losses and hits of each row, and the numbers of masked words."""
    every = self.scores(backbone, params, batch, None)
    results = {name: x.reshape(len(x), -1).sum(-1) for name, x in every.items()}
    return results | {"word_count": (batch["labels"] != IGNORED).sum(-1)}


@cached(4)
def _tokenizer(directory: str) -> Tokenizer:
  return load_tokenizer(directory, markers=False)
