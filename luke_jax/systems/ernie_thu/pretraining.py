"""Pretraining of ERNIE of Tsinghua: masked words, the next sentence, and aligned entities."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import optax

from luke_jax.errors import InputError, check_whole
from luke_jax.files import Path
from luke_jax.heads.kinds import make_head
from luke_jax.models import network
from luke_jax.models.network import Network
from luke_jax.models.system import Backbone
from luke_jax.nn.losses import IGNORED, target_weights
from luke_jax.pipeline.reads import Reads
from luke_jax.pipeline.stored import NONE, Instance, InstancePart, StoredInstances
from luke_jax.tasks import aligned
from luke_jax.tasks.aligned import check_width, open_vectors
from luke_jax.tasks.pretraining import weighted
from luke_jax.training.task import Batch, Params, Task, Tree

Arrays = dict[str, np.ndarray]


def word_arrays(records: Sequence[Instance], words: int, masked: int, pad: int) -> Arrays:
  """Returns the words (B, W), the masked ones (B, P), and the labels (B,) of second sentences."""
  shape, slots = (len(records), words), (len(records), masked)
  ids, types = np.full(shape, pad, np.int32), np.zeros(shape, np.int32)
  mask, positions = np.zeros(shape, np.int32), np.zeros(slots, np.int32)
  labels = np.full(slots, IGNORED, np.int32)
  for i, record in enumerate(records):
    length, places = len(record.input_ids), np.flatnonzero(record.labels != NONE)[:masked]
    ids[i, :length], mask[i, :length] = record.input_ids, 1
    types[i, :length] = record.token_type_ids
    positions[i, : len(places)], labels[i, : len(places)] = places, record.labels[places]
  return {
    "input_ids": ids,
    "attention_mask": mask,
    "token_type_ids": types,
    "masked_positions": positions,
    "labels": labels,
    "next_sentence_labels": np.array([record.random_next for record in records], np.int32),
  }


def aligned_entities(records: Sequence[Instance], words: int) -> np.ndarray:
  """Returns the entities beside the words (B, W), -1 for none."""
  entities = np.full((len(records), words), NONE, np.int32)
  for line, record in zip(entities, records, strict=True):
    line[: len(record.entities)] = record.entities
  return entities


def target_arrays(entities: np.ndarray, slots: int) -> Arrays:
  """Returns the first aligned words, each with its own entity as the candidate of its number."""
  shape = (len(entities), slots)
  places, ids = np.zeros(shape, np.int32), np.full(shape, NONE, np.int32)
  labels = np.full(shape, IGNORED, np.int32)
  for i, line in enumerate(entities):
    aligned = np.flatnonzero(line != NONE)[:slots]
    places[i, : len(aligned)], ids[i, : len(aligned)] = aligned, line[aligned]
    labels[i, : len(aligned)] = np.arange(len(aligned))
  return {"aligned_positions": places, "entity_labels": labels, "candidate_ids": ids}


def corrupted(
  entities: np.ndarray, rngs: Sequence[np.random.Generator], other: float, none: float
) -> np.ndarray:
  """Returns entities (B, W) of which a share `other` is another of them, and a share `none` is -1.

  The other one is any of the distinct entities, perhaps the same again.
  """
  distinct = np.unique(entities[entities != NONE])
  changed = entities.copy()
  for line, rng in zip(changed, rngs, strict=True):
    places = np.flatnonzero(line != NONE)
    draws = rng.random(len(places))
    others = places[draws < other]
    line[others] = rng.choice(distinct, len(others)) if len(others) else ()
    line[places[(other <= draws) & (draws < other + none)]] = NONE
  return changed


@dataclasses.dataclass(frozen=True)
class AlignedPretraining(Task):
  """Prediction of masked words, of the next sentence, and of the entities beside words (§3.4).

  Of aligned words some get another entity as input and some none; all are to predict their own.
  Pairs of sentences come from `python -m data.ernie_thu.pairs`, or are those of ERNIE's authors.
  """

  pairs: str = ""  # file of pairs, NAME.bin
  vectors: str = ""  # folder of the entities' vectors
  text: str = ""  # directory of the tokenizer
  words: int = 256  # the longest pair, special tokens included
  masked: int = 40  # the most words of a pair that are predicted
  entities: int = 64  # the most aligned words of a pair that predict their entity
  held_out: float = 0.01  # of the pairs, the last ones, which are "dev" and not "train"
  dev_pairs: int = 1024  # at most
  other_entities: float = 0.05  # share of the aligned words that get another entity of the batch
  no_entities: float = 0.15  # share of the aligned words that get none
  read_entities: bool = True  # or the vectors are no input
  predict_entities: bool = True  # or there is no loss of entities
  whole_batch: bool = False  # entities of the batch are candidates, not those of the pair alone

  name: ClassVar[str] = "aligned_pretraining"
  heads: ClassVar[tuple[str, ...]] = ("pretraining",)
  markers: ClassVar[bool] = False  # its tokenizer has none

  def __post_init__(self) -> None:
    check_whole(8, words=self.words)
    check_whole(1, masked=self.masked, entities=self.entities, dev_pairs=self.dev_pairs)
    if not 0 < self.held_out < 1:
      raise InputError(f"held_out: {self.held_out!r}; expected a share above 0 and below 1")
    both = (self.other_entities, self.no_entities)
    if min(both) < 0 or sum(both) > 1:
      raise InputError(f"other_entities, no_entities: {both}; expected shares, at most 1 together")

  @property
  def text_directory(self) -> str:
    """Returns the directory of the tokenizer."""
    return self.text

  def reads(self) -> Reads:
    """Returns the files of the pairs and of the vectors."""
    self._check_given()
    index = str(Path(self.pairs).with_suffix(".idx"))
    return Reads((index,), (self.pairs,)) + aligned.vector_reads(self.vectors)

  def _check_given(self) -> None:
    """Raises InputError for a place that is not given."""
    for name, expected in _EXPECTED.items():
      if not getattr(self, name):
        raise InputError(f"task.{name}: empty; expected {expected}")

  def network(self, backbone: Backbone) -> Network:
    """Returns a backbone with the heads of pretraining."""
    head: Any = make_head(self.head, backbone)
    return Network(backbone, head.clone(whole_batch=self.whole_batch))

  def initial_params(self, backbone: Backbone, key: jax.Array) -> dict:
    """Returns fresh parameters."""
    return network.initial_params(self.network(backbone), key)

  def weights(self, batch: Batch) -> dict[str, jax.Array]:
    """Returns the weights of masked words, aligned ones and pairs, which have a mean each."""
    masks = {"word": batch["labels"] != IGNORED}
    masks["next"] = jnp.ones(batch["next_sentence_labels"].shape, bool)
    if self.predict_entities:
      masks["entity"] = batch["entity_labels"] != IGNORED
    return {name: target_weights(mask) for name, mask in masks.items()}

  def loss(
    self, backbone: Backbone, params: Params, batch: Batch, weights: Tree, key: jax.Array | None
  ) -> tuple[jax.Array, dict[str, jax.Array]]:
    """Returns the sum of the three losses."""
    loss, metrics = weighted(_each(self._outputs(backbone, params, batch, key), batch), weights)
    return loss, metrics | {"tokens": batch["attention_mask"].sum()}

  def _outputs(
    self, backbone: Backbone, params: Params, batch: Batch, key: jax.Array | None
  ) -> dict[str, jax.Array]:
    inputs = {name: x for name, x in batch.items() if name != "next_sentence_labels"}
    return network.apply(self.network(backbone), params, inputs, key)

  def records(self, backbone: Backbone, split: str) -> InstancePart:
    """Returns the first pairs of the file as "train", and the last as "dev"."""
    self._check_given()
    if not backbone.decoders.vectors:
      raise InputError(f"model: a {backbone.config.title}; expected one that reads vectors")
    check_width(open_vectors(self.vectors), backbone)
    stored = StoredInstances(self.pairs)
    room = min(self.words, backbone.config.room_for_words)
    if stored.words > room:
      raise InputError(f"task.words: {room}; expected {stored.words}, as {self.pairs} has them")
    held = max(1, round(len(stored) * self.held_out))
    if len(stored) <= held:
      raise InputError(f"{self.pairs}: {len(stored)} pairs; expected some to train on and some not")
    first = len(stored) - held
    if split == "train":
      return InstancePart(stored, 0, first)
    return InstancePart(stored, first, min(len(stored), first + self.dev_pairs))

  def row_shapes(self, backbone: Backbone) -> dict[str, jax.ShapeDtypeStruct]:
    """Returns the shapes of one row of a batch."""
    width = backbone.decoders.vectors
    names = ("input_ids", "attention_mask", "token_type_ids")
    every: dict[str, tuple[int, ...]] = dict.fromkeys(names, (self.words,))
    every |= dict.fromkeys(("masked_positions", "labels"), (self.masked,))
    every["next_sentence_labels"] = ()
    slots = ("aligned_positions", "entity_labels", "candidate_ids")
    every |= dict.fromkeys(slots, (self.entities,))
    vectors = {"candidate_vectors": (self.entities, width)}
    if self.read_entities:
      every["entity_mask"] = (self.words,)
      vectors["entity_vectors"] = (self.words, width)
    shapes = {name: jax.ShapeDtypeStruct(shape, jnp.int32) for name, shape in every.items()}
    floats = {name: jax.ShapeDtypeStruct(shape, jnp.float32) for name, shape in vectors.items()}
    return shapes | floats

  def rows(
    self, backbone: Backbone, records: Sequence[Instance], rngs: Sequence[np.random.Generator]
  ) -> Arrays:
    """Pads pairs, and changes the entities that they read.

    Another entity is one of the pairs that this process makes rows of together.
    """
    arrays = word_arrays(records, self.words, self.masked, backbone.config.pad_token_id)
    entities = aligned_entities(records, self.words)
    arrays |= target_arrays(entities, self.entities)
    vectors = open_vectors(self.vectors)
    arrays["candidate_vectors"] = vectors.at(arrays["candidate_ids"])
    if self.read_entities:
      read = corrupted(entities, rngs, self.other_entities, self.no_entities)
      arrays["entity_vectors"] = vectors.at(read)
      arrays["entity_mask"] = (read != NONE).astype(np.int32)
    return arrays

  def predict(self, backbone: Backbone, params: Params, batch: Batch) -> dict[str, jax.Array]:
    """Returns losses, hits and counts of each row, and those of words whose entity is hidden."""
    every = _each(self._outputs(backbone, params, batch, None), batch)
    masks = {"word": batch["labels"] != IGNORED, "entity": batch["entity_labels"] != IGNORED}
    results = {name: x.reshape(len(x), -1).sum(-1) for name, x in every.items()}
    results |= {f"{name}_count": mask.sum(-1) for name, mask in masks.items()}
    hidden = masks["entity"]
    if self.read_entities:
      read = jnp.take_along_axis(batch["entity_mask"], batch["aligned_positions"], axis=1)
      hidden &= read == 0
    results["hidden_hits"] = jnp.where(hidden, every["entity_hits"], 0).sum(-1)
    results["hidden_count"] = hidden.sum(-1)
    ids = jnp.sort(batch["candidate_ids"], axis=1)
    distinct = ((ids[:, 1:] != ids[:, :-1]) & (ids[:, 1:] != NONE)).sum(-1) + (ids[:, 0] != NONE)
    results["hidden_chance"] = results["hidden_count"] / jnp.maximum(distinct, 1)
    return results

  def score(self, records: InstancePart, predictions: Mapping[str, np.ndarray]) -> dict[str, float]:
    """Returns mean losses and shares of right predictions.

    `hidden_accuracy` is that of aligned words whose own entity was no input, `hidden_chance` what
    guessing among the entities of a pair would reach.
    """
    sums = {name: float(np.sum(x, dtype=np.float64)) for name, x in predictions.items()}
    sums["next_count"] = len(records)
    scores = {}
    for kind in ("word", "next", "entity"):
      count = max(1.0, sums[f"{kind}_count"])
      scores[f"{kind}_loss"] = sums[f"{kind}_losses"] / count
      scores[f"{kind}_accuracy"] = sums[f"{kind}_hits"] / count
    hidden = max(1.0, sums["hidden_count"])
    scores["hidden_accuracy"] = sums["hidden_hits"] / hidden
    scores["hidden_chance"] = sums["hidden_chance"] / hidden
    return scores


_EXPECTED = {
  "pairs": "a file of pairs, as `python -m data.ernie_thu.pairs` makes",
  "vectors": "a folder of entity vectors",
  "text": "the directory of a tokenizer",
}


def _each(outputs: Mapping[str, jax.Array], batch: Mapping[str, jax.Array]) -> dict:
  """Returns losses and hits of every target, by their kind."""
  labels, logits = batch["next_sentence_labels"], outputs["next_sentence_logits"]
  every = {f"{kind}_{x}": outputs[f"{kind}_{x}"] for kind in _SCORED for x in ("losses", "hits")}
  every["next_losses"] = optax.softmax_cross_entropy_with_integer_labels(logits, labels)
  return every | {"next_hits": (logits.argmax(-1) == labels).astype(jnp.float32)}


_SCORED = ("word", "entity")
