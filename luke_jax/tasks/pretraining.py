"""Pretraining (paper §3.3): masked words and masked entities of a corpus of records."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import optax

from luke_jax.errors import InputError, check_whole
from luke_jax.files import Path, sha256
from luke_jax.heads.kinds import make_head
from luke_jax.models import network
from luke_jax.models.network import Network
from luke_jax.models.system import Backbone
from luke_jax.nn.losses import IGNORED, target_weights
from luke_jax.pipeline.metadata import METADATA, Metadata, read_metadata, tokenizer_hash
from luke_jax.pipeline.reads import Reads, cached
from luke_jax.pipeline.rows import Masking, RowMaker, RowSizes, read_entities, read_words
from luke_jax.pipeline.stored import Corpora, HeldOutRecords, StoredRecords, TrainingRecords
from luke_jax.training.task import Batch, Params, Task, Tree


def check_corpora(folders: Sequence[str], backbone: Backbone, sizes: RowSizes) -> None:
  """Raises InputError for records too long for the rows, or with other ids than the model's."""
  room = backbone.config.room_for_words
  if sizes.words > room:
    raise InputError(f"task.words: {sizes.words}; expected at most {room}, the model's positions")
  if backbone.decoders.page_width and not backbone.entities:
    raise InputError("model.cls_entity_prediction: true; expected false, for it has no entities")
  for folder in folders:
    metadata = read_metadata(folder)
    _check_records(folder, metadata, sizes)
    _check_vocabularies(folder, metadata, backbone)
    if metadata.tokenizer != _tokenizer(folder):
      raise InputError(
        f"{folder}: its tokenizer is not the one its records were built with; expected it"
      )
  _check_same(folders, entities=bool(backbone.entities))
  special = read_words(folders[0]).special
  sizes_of = vars(backbone.config)
  for name, id in (("pad", special.pad), ("bos", special.start), ("eos", special.end)):
    actual = sizes_of.get(f"{name}_token_id", id)
    if actual != id:
      raise InputError(f"model.{name}_token_id: {actual}; expected {id}, as {folders[0]} has it")


def _check_records(folder: str, metadata: Metadata, sizes: RowSizes) -> None:
  limits = [("words", metadata.max_words, sizes.words)]
  if sizes.entities:
    limits.append(("entities", metadata.max_entities, sizes.entities))
    limits.append(("mention", metadata.max_mention, sizes.mention))
  for name, most, room in limits:
    if most > room:
      raise InputError(f"task.{name}: {room}; expected {most}, as the records of {folder} have it")


def _check_vocabularies(folder: str, metadata: Metadata, backbone: Backbone) -> None:
  words = backbone.config.vocab_size
  if metadata.vocab_size > words:
    raise InputError(
      f"model.vocab_size: {words}; expected {metadata.vocab_size}, as the records of"
      f" {folder} have it"
    )
  # Not fewer either: the exported model has the titles of the records, one for each entity.
  if backbone.entities not in (0, metadata.entity_vocab_size):
    raise InputError(
      f"model.entity_vocab_size: {backbone.entities}; expected"
      f" {metadata.entity_vocab_size}, as the records of {folder} have it, or 0 for words only"
    )


def _check_same(folders: Sequence[str], *, entities: bool) -> None:
  """Raises InputError for corpora with different vocabularies."""
  first = folders[0]
  for folder in folders[1:]:
    if _tokenizer(folder) != _tokenizer(first):
      raise InputError(f"{folder}: another tokenizer than {first}; expected the same")
    if entities and _titles(folder) != _titles(first):
      raise InputError(f"{folder}: another entity vocabulary than {first}; expected the same")


@cached(64)
def _tokenizer(folder: str) -> str:
  return tokenizer_hash(folder)


@cached(64)
def _titles(folder: str) -> str:
  path = Path(folder) / "entity_vocab.json"
  try:
    return sha256(path)
  except FileNotFoundError:
    raise InputError(f"{path}: no such file; expected the titles of the entities") from None


def _check_held_out(share: float) -> None:
  if not 0 < share < 1:
    raise InputError(f"held_out: {share!r}; expected a share above 0 and below 1")


class MaskedPrediction(Task):
  """Prediction of what is masked, by a head that returns losses and hits of its targets."""

  def network(self, backbone: Backbone) -> Network:
    """Returns a backbone with the task's head."""
    return Network(backbone, make_head(self.head, backbone))

  def initial_params(self, backbone: Backbone, key: jax.Array) -> dict:
    """Returns fresh parameters."""
    return network.initial_params(self.network(backbone), key)

  def weights(self, batch: Batch) -> dict[str, jax.Array]:
    """Returns the weights of the targets by their kind, each of which has a mean."""
    return masked_weights(batch)

  def scores(
    self, backbone: Backbone, params: Params, batch: Batch, key: jax.Array | None
  ) -> dict[str, jax.Array]:
    """Returns losses and hits of each target, by its kind."""
    return network.apply(self.network(backbone), params, batch, key)

  def loss(
    self, backbone: Backbone, params: Params, batch: Batch, weights: Tree, key: jax.Array | None
  ) -> tuple[jax.Array, dict[str, jax.Array]]:
    """Returns the sum of the weighted losses of all kinds of targets."""
    loss, metrics = weighted(self.scores(backbone, params, batch, key), weights)
    return loss, metrics | {"tokens": batch["attention_mask"].sum()}


@dataclasses.dataclass(frozen=True)
class SentencePretraining(MaskedPrediction):
  """Prediction of masked words, and of a pair's second sentence as the next one or another."""

  text: str = ""  # directory of the tokenizer
  held_out: float = 0.01  # of a file, the last instances, which are "dev" and not "train"

  heads: ClassVar[tuple[str, ...]] = ("pretraining",)
  markers: ClassVar[bool] = False  # its tokenizer has none

  def __post_init__(self) -> None:
    _check_held_out(self.held_out)

  @property
  def text_directory(self) -> str:
    """Returns the directory of the tokenizer."""
    return self.text

  def scores(
    self, backbone: Backbone, params: Params, batch: Batch, key: jax.Array | None
  ) -> dict[str, jax.Array]:
    """Returns losses and hits of each target, those of pairs under the name of next."""
    inputs = {name: x for name, x in batch.items() if name != "next_sentence_labels"}
    scores = super().scores(backbone, params, inputs, key)
    labels, logits = batch["next_sentence_labels"], scores.pop("next_sentence_logits")
    losses = optax.softmax_cross_entropy_with_integer_labels(logits, labels)
    hits = (logits.argmax(-1) == labels).astype(jnp.float32)
    return scores | {"next_losses": losses, "next_hits": hits}

  def score(self, records: Any, predictions: Mapping[str, np.ndarray]) -> dict[str, float]:
    """Returns mean losses and shares of right predictions."""
    sums = {name: float(np.sum(x, dtype=np.float64)) for name, x in predictions.items()}
    sums["next_count"] = len(records)
    scores = {}
    for kind in (name.removesuffix("_losses") for name in predictions if "_losses" in name):
      count = max(1.0, sums[f"{kind}_count"])
      scores[f"{kind}_loss"] = sums[f"{kind}_losses"] / count
      scores[f"{kind}_accuracy"] = sums[f"{kind}_hits"] / count
    return scores


Records = TrainingRecords | HeldOutRecords
MICRO_BATCH = 4  # rows, of the authors' runs


@dataclasses.dataclass(frozen=True)
class Pretraining(MaskedPrediction):
  """Prediction of masked words and entities in records from `luke-jax wiki build`.

  A model without entities reads words only, which is the paper's control run. One with
  `cls_entity_prediction` also predicts the embedding of the page's own entity.
  """

  corpora: tuple[str, ...]  # folders of records, all with the same vocabularies
  words: int = 512  # the longest text, special tokens included
  entities: int = 128
  mention: int = 30  # positions of a mention
  exponent: float = 0.7  # of a corpus's size, if there are several
  held_out: float = 0.005  # of the pages, whose records are "dev" and not "train"
  dev_records: int = 2048  # at most, since an evaluation need not read all of them
  masking: Masking = dataclasses.field(default_factory=Masking)
  authors: bool = False  # rows and losses of the authors' code, see docs/differences.md

  name: ClassVar[str] = "pretraining"
  heads: ClassVar[tuple[str, ...]] = ("masked",)

  def __post_init__(self) -> None:
    if not self.corpora or not all(self.corpora):
      raise InputError(f"corpora: {self.corpora!r}; expected one folder of records or more")
    check_whole(3, words=self.words)
    numbers = {"mention": self.mention, "dev_records": self.dev_records}
    check_whole(1, entities=self.entities, **numbers)
    _check_held_out(self.held_out)
    if not 0 <= self.exponent <= 1:
      raise InputError(f"exponent: {self.exponent!r}; expected a number from 0 to 1")

  @property
  def text_directory(self) -> str:
    """Returns the folder with the tokenizer and the entity vocabulary of the records."""
    return self.corpora[0]

  @property
  def folders(self) -> tuple[str, ...]:
    """Returns the folders of records."""
    return self.corpora

  def reads(self) -> Reads:
    """Returns the metadata of the corpora, and their files of records."""
    folders = [Path(folder) for folder in self.corpora]
    records = (folder / file.name for folder in folders for file in read_metadata(folder).files)
    return Reads(tuple(str(folder / METADATA) for folder in folders), tuple(map(str, records)))

  def weights(self, batch: Batch) -> dict[str, jax.Array]:
    """Returns the weights of masked words, masked entities and pages, which have a mean each."""
    return masked_weights(batch, MICRO_BATCH if self.authors else None)

  def records(self, backbone: Backbone, split: str) -> Records:
    """Returns the records of "train", or those of the pages held out from it."""
    check_corpora(self.corpora, backbone, self._sizes(backbone))
    if split == "train":
      return TrainingRecords(_corpora(self.corpora, self.exponent), self.held_out)
    return _held_out(self.corpora, self.held_out, self.dev_records)

  def at_step(self, step: int) -> "Pretraining":
    """Returns the task with the shares that a training step masks."""
    return dataclasses.replace(self, masking=self.masking.at_step(step))

  def row_shapes(self, backbone: Backbone) -> dict[str, jax.ShapeDtypeStruct]:
    """Returns the shapes of one row of a batch, which do not depend on the corpora."""
    shapes = self._sizes(backbone).shapes
    return {name: jax.ShapeDtypeStruct(shape, jnp.int32) for name, shape in shapes.items()}

  def rows(
    self, backbone: Backbone, records: Sequence[Any], rngs: Sequence[np.random.Generator]
  ) -> dict[str, np.ndarray]:
    """Pads and masks records."""
    words, size = read_words(self.text_directory, self.authors), backbone.entities
    entities = read_entities(self.text_directory, size) if size else None
    return RowMaker(self._sizes(backbone), self.masking, words, entities)(records, rngs)

  def _sizes(self, backbone: Backbone) -> RowSizes:
    entities = self.entities if backbone.entities else 0
    slots = self.masking.slots(self.words, self.entities)
    return RowSizes(
      self.words, entities, self.mention, *slots, page=bool(backbone.decoders.page_width)
    )

  def predict(self, backbone: Backbone, params: Params, batch: Batch) -> dict[str, jax.Array]:
    """Returns losses, hits and number of each row's masked words, and all of each masked entity."""
    scores = self.scores(backbone, params, batch, None)
    results = {name: scores[f"word_{name}"].sum(-1) for name in ("losses", "hits")}
    results["count"] = (batch["labels"] != IGNORED).sum(-1)
    if backbone.entities:
      names = ("entity_losses", "entity_hits")
      results |= {name: scores[name] for name in names} | {"entity_labels": batch["entity_labels"]}
    if backbone.decoders.page_width:
      results |= {"page_losses": scores["page_losses"], "pages": batch["page_ids"] >= 0}
    return results

  def score(self, records: object, predictions: dict[str, np.ndarray]) -> dict[str, float]:
    """Returns mean losses and shares of right predictions.

    `entity_majority` is the share of a constant prediction of the most frequent entity.
    """
    scores, words = {}, int(predictions["count"].sum())
    if words:
      scores["word_loss"] = float(predictions["losses"].sum() / words)
      scores["word_accuracy"] = float(predictions["hits"].sum() / words)
    if "entity_labels" in predictions:
      labels = predictions["entity_labels"]
      counts = np.unique(labels[labels != IGNORED], return_counts=True)[1]
      entities = max(1, int(counts.sum()))
      scores |= {
        "entity_loss": float(predictions["entity_losses"].sum() / entities),
        "entity_accuracy": float(predictions["entity_hits"].sum() / entities),
        "entity_majority": float(counts.max(initial=0) / entities),
      }
    if "pages" in predictions:
      pages = max(1, int(predictions["pages"].sum()))
      scores["page_loss"] = float(predictions["page_losses"].sum() / pages)
    return scores


def masked_weights(batch: Mapping[str, jax.Array], rows: int | None = None) -> dict[str, jax.Array]:
  """Returns weights by the kind of target: word and, where the batch has them, the others."""
  masks = {"word": batch["labels"] != IGNORED}
  if "next_sentence_labels" in batch:
    masks["next"] = jnp.ones(batch["next_sentence_labels"].shape, bool)
  if "entity_labels" in batch:
    masks["entity"] = batch["entity_labels"] != IGNORED
  if "page_ids" in batch:
    masks["page"] = batch["page_ids"] >= 0
  return {kind: target_weights(mask, rows) for kind, mask in masks.items()}


def weighted(
  scores: Mapping[str, jax.Array], weights: Mapping[str, jax.Array]
) -> tuple[jax.Array, dict[str, jax.Array]]:
  """Returns the sum of the weighted losses, and the loss and the share of hits of each kind."""
  metrics = {f"{kind}_loss": (scores[f"{kind}_losses"] * x).sum() for kind, x in weights.items()}
  loss = jnp.stack(list(metrics.values())).sum()
  hits = {kind: scores[f"{kind}_hits"] for kind in weights if f"{kind}_hits" in scores}
  accuracies = {f"{kind}_accuracy": (x * weights[kind]).sum() for kind, x in hits.items()}
  return loss, metrics | accuracies


def _corpora(folders: tuple[str, ...], exponent: float) -> Corpora:
  return Corpora(tuple(map(StoredRecords, folders)), exponent)


@cached(4)  # finding them reads every record
def _held_out(folders: tuple[str, ...], share: float, most: int) -> HeldOutRecords:
  return HeldOutRecords(_corpora(folders, 1.0), share, most)
