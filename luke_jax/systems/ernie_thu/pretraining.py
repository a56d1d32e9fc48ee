"""Pretraining of ERNIE of Tsinghua: masked words, the next sentence, and aligned entities."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from luke_jax.errors import InputError, check_whole
from luke_jax.files import Path
from luke_jax.heads.kinds import make_head
from luke_jax.models.network import Network
from luke_jax.models.system import Backbone
from luke_jax.nn.losses import IGNORED
from luke_jax.pipeline.reads import Reads
from luke_jax.pipeline.stored import NONE, Instance, InstancePart, StoredInstances
from luke_jax.tasks import aligned
from luke_jax.tasks.aligned import ROWS, check_width, open_vectors
from luke_jax.tasks.pretraining import SentencePretraining
from luke_jax.text.rows import WORD_INPUTS, Room, Rooms, Row, Sizes, padded, padded_shapes
from luke_jax.training.task import Batch, Params

Arrays = dict[str, np.ndarray]


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
class AlignedPretraining(SentencePretraining):
  """Prediction of masked words, of the next sentence, and of the entities beside words (§3.4).

  Of aligned words some get another entity as input and some none; all are to predict their own.
  Pairs of sentences come from `python -m data.ernie_thu.pairs`, or are those of ERNIE's authors.
  """

  pairs: str = ""  # file of pairs, NAME.bin
  vectors: str = ""  # folder of the entities' vectors
  words: int = 256  # the longest pair, special tokens included
  masked: int = 40  # the most words of a pair that are predicted
  entities: int = 64  # the most aligned words of a pair that predict their entity
  dev_pairs: int = 1024  # at most
  other_entities: float = 0.05  # share of the aligned words that get another entity of the batch
  no_entities: float = 0.15  # share of the aligned words that get none
  read_entities: bool = True  # or the vectors are no input
  predict_entities: bool = True  # or there is no loss of entities
  whole_batch: bool = False  # entities of the batch are candidates, not those of the pair alone

  name: ClassVar[str] = "aligned_pretraining"

  def __post_init__(self) -> None:
    super().__post_init__()
    check_whole(8, words=self.words)
    check_whole(1, masked=self.masked, entities=self.entities, dev_pairs=self.dev_pairs)
    both = (self.other_entities, self.no_entities)
    if min(both) < 0 or sum(both) > 1:
      raise InputError(f"other_entities, no_entities: {both}; expected shares, at most 1 together")

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

  def weights(self, batch: Batch) -> dict[str, jax.Array]:
    """Returns the weights of masked words, aligned ones and pairs, which have a mean each."""
    weights = super().weights(batch)
    return {kind: x for kind, x in weights.items() if kind != "entity" or self.predict_entities}

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
    every = padded_shapes(Sizes(self.words, 0, 0), names=WORD_INPUTS, extra=self._rooms)
    every["entity_mask"] = every.pop(ROWS)
    vectors = {"candidate_vectors": (self.entities, width)}
    if self.read_entities:
      vectors["entity_vectors"] = (self.words, width)
    else:
      del every["entity_mask"]
    shapes = {name: jax.ShapeDtypeStruct(shape, jnp.int32) for name, shape in every.items()}
    floats = {name: jax.ShapeDtypeStruct(shape, jnp.float32) for name, shape in vectors.items()}
    return shapes | floats

  @property
  def _rooms(self) -> Rooms:
    """Returns the room for all that a row has beside its words, before vectors replace ids."""
    words, masked, entities = (self.words,), (self.masked,), (self.entities,)
    return {
      "token_type_ids": Room(words),
      "masked_positions": Room(masked),
      "labels": Room(masked, IGNORED),
      "next_sentence_labels": Room(()),
      ROWS: Room(words, NONE),
      "aligned_positions": Room(entities),
      "entity_labels": Room(entities, IGNORED),
      "candidate_ids": Room(entities, NONE),
    }

  def rows(
    self, backbone: Backbone, records: Sequence[Instance], rngs: Sequence[np.random.Generator]
  ) -> Arrays:
    """Pads pairs, and changes the entities that they read.

    Another entity is one of the pairs that this process makes rows of together.
    """
    sizes, pads = Sizes(self.words, 0, 0), (backbone.config.pad_token_id, 0)
    rows = [self._row(record) for record in records]
    arrays = padded(rows, sizes, *pads, names=WORD_INPUTS, extra=self._rooms)
    entities, vectors = arrays.pop(ROWS), open_vectors(self.vectors)
    arrays["candidate_vectors"] = vectors.at(arrays["candidate_ids"])
    if self.read_entities:
      read = corrupted(entities, rngs, self.other_entities, self.no_entities)
      arrays["entity_vectors"] = vectors.at(read)
      arrays["entity_mask"] = (read != NONE).astype(np.int32)
    return arrays

  def _row(self, record: Instance) -> Row:
    """Returns a pair with its first aligned words, whose own entities are the candidates."""
    masked = np.flatnonzero(record.labels != NONE)[: self.masked]
    aligned = np.flatnonzero(record.entities != NONE)[: self.entities]
    extra = {
      "token_type_ids": record.token_type_ids,
      "masked_positions": masked,
      "next_sentence_labels": record.random_next,
      ROWS: record.entities,
      "aligned_positions": aligned,
      "entity_labels": np.arange(len(aligned)),
      "candidate_ids": record.entities[aligned],
    }
    no_tokens = np.zeros((0, 2), np.int32)  # entities are no tokens here
    labels = record.labels[masked]
    return Row(0, record.input_ids, no_tokens[:, 0], no_tokens, labels, extra=extra)

  def predict(self, backbone: Backbone, params: Params, batch: Batch) -> dict[str, jax.Array]:
    """Returns losses, hits and counts of each row, and those of words whose entity is hidden."""
    every = self.scores(backbone, params, batch, None)
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
    names = ("count", "hits", "chance")
    count, hits, chance = (predictions[f"hidden_{x}"].sum(dtype=np.float64) for x in names)
    shares = {"hidden_accuracy": hits / max(1.0, count), "hidden_chance": chance / max(1.0, count)}
    return super().score(records, predictions) | {name: float(x) for name, x in shares.items()}


_EXPECTED = {
  "pairs": "a file of pairs, as `python -m data.ernie_thu.pairs` makes",
  "vectors": "a folder of entity vectors",
  "text": "the directory of a tokenizer",
}
