"""Checks that records, a task's rows and a model match."""

from collections.abc import Sequence

from luke_jax.errors import InputError
from luke_jax.files import Path, sha256
from luke_jax.models.system import Backbone
from luke_jax.pipeline.cache import cached
from luke_jax.pipeline.metadata import Metadata, read_metadata, tokenizer_hash
from luke_jax.pipeline.rows import RowSizes, read_words


def check_corpora(folders: Sequence[str], backbone: Backbone, sizes: RowSizes) -> None:
  """Raises InputError for records too long for the rows, or with other ids than the model's."""
  _check_room(backbone, sizes)
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


def _check_room(backbone: Backbone, sizes: RowSizes) -> None:
  room = backbone.config.room_for_words
  if sizes.words > room:
    raise InputError(f"task.words: {sizes.words}; expected at most {room}, the model's positions")
  if backbone.decoders.page_width and not backbone.entities:
    raise InputError("model.cls_entity_prediction: true; expected false, for it has no entities")


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
