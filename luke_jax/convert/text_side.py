"""The text side of a model: its tokenizer and its entity vocabulary, where there are files."""

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np

from luke_jax.convert.parts import ModelParts
from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.models import keys
from luke_jax.models.system import Backbone
from luke_jax.text import Processor, Tokenizer, load_entity_vocab, load_processor, load_tokenizer
from luke_jax.text.entity_vocab import SPECIAL_ENTITIES, EntityVocab
from luke_jax.text.processor import has_entity_vocab
from luke_jax.text.tokenizer import MASK, MASK2, PAD, UNKNOWN
from luke_jax.text.tokenizer_files import has_tokenizer
from luke_jax.text.whole_words import WORDS_FILE

# The rows that new markers start from, in the order of the markers.
MARKER_SOURCES = ("@", "#")


def read_text_side(
  backbone: Backbone, directory: Path, tokenizer: Path | None, vocab: EntityVocab | None
) -> tuple[Tokenizer | None, Processor | None]:
  """Returns the tokenizer and the processor of texts; None where files are missing.

  `tokenizer` and `vocab` take precedence over the directory's. A model of words only has the
  special entities, so that tasks can mark spans.
  """
  words, markers = tokenizer or directory, backbone.config.markers
  if not has_tokenizer(words):
    return (load_tokenizer(words) if tokenizer else None), None
  if vocab is None and backbone.entities and has_entity_vocab(directory):
    if words == directory:
      processor = load_processor(directory)
      return processor.tokenizer, _fitted(processor, backbone)
    vocab = load_entity_vocab(directory)
  if vocab is None and not backbone.entities:
    vocab = SPECIAL_ENTITIES
  loaded = load_tokenizer(words, markers=markers)
  return loaded, _fitted(Processor(loaded, vocab), backbone) if vocab else None


def _fitted(processor: Processor, backbone: Backbone) -> Processor:
  """Returns the processor with rows no longer than the model has positions for."""
  length = min(processor.max_length, backbone.config.room_for_words)
  types = backbone.config.token_types
  return dataclasses.replace(processor, max_length=length, token_types=types)


def add_entities(
  model: ModelParts,
  titles: Sequence[str],
  *,
  vectors: np.ndarray | None = None,
  language: str | None = None,
) -> ModelParts:
  """Returns the model with new entities after those it has.

  Their rows are copies of `[MASK]`'s, or the given vectors (titles, K), with `[MASK]`'s bias.
  """
  vocab = _processor(model).entity_vocab
  entities = model.config.layout.entities
  if vectors is not None:
    vectors = _checked(vectors, (len(titles), model.entity_table.shape[1]))
  grown = vocab.add(titles, language)
  rows = np.full(len(titles), vocab.mask_id)

  def add(path: str, array: np.ndarray) -> np.ndarray:
    new = array[rows]
    if vectors is not None and path.endswith("embedding"):
      new = vectors
    return np.concatenate([array, new])

  params = changed_arrays(model.params, entities, add)
  return _with_entities(model, params, grown)


def _checked(vectors: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
  try:
    array = np.asarray(vectors, np.float32)
  except (TypeError, ValueError):
    raise InputError("vectors: not numbers; expected an array of them") from None
  if array.shape != shape:
    raise InputError(f"vectors: shape {array.shape}; expected {shape}")
  if np.iscomplexobj(vectors) or not np.isfinite(array).all():
    raise InputError("vectors: not all finite; expected real numbers")
  return array


def add_markers(model: ModelParts) -> ModelParts:
  """Returns the model with rows for the tokenizer's entity markers, where it has none yet.

  They start as copies of the rows of `@` and `#`, as the authors' do.
  """
  tokenizer, size = model.tokenizer, model.config.vocab_size
  if tokenizer is None or not tokenizer.special.markers or tokenizer.vocab_size <= size:
    return model
  markers = tokenizer.special.marker_ids
  if tokenizer.vocab_size > size + len(markers) or min(markers) < size:
    raise InputError(f"tokenizer: {tokenizer.vocab_size} words; expected the model's {size}")
  sources = [tokenizer.piece_id(piece) for piece in MARKER_SOURCES]
  return with_word_rows(_with_added(model, *tokenizer.special.markers), sources)


def with_word_rows(model: ModelParts, sources: Sequence[int]) -> ModelParts:
  """Returns the model with rows for more words, copies of those of the words of these ids."""
  params = changed_arrays(
    model.params,
    model.config.layout.words,
    lambda _, array: np.concatenate([array, array[sources]]),
  )
  size = model.config.vocab_size + len(sources)
  return model.with_config(dataclasses.replace(model.config, vocab_size=size), params)


def add_second_mask(model: ModelParts, archive: bool = False) -> ModelParts:
  """Returns the model with `[MASK2]`, a copy of `[MASK]`, where its vocabulary has none.

  An archive of the authors may list it, but pretraining never reads it: its row is a copy too, as
  in transformers' conversion.
  """
  processor = model.processor
  if processor is None or not model.backbone.entities:
    return model
  vocab = processor.entity_vocab
  if vocab.mask2_id is None:
    return add_entities(_with_added(model, MASK2), [MASK2])
  if not archive:
    return model

  def copied(path: str, array: np.ndarray) -> np.ndarray:
    if path.endswith("embedding"):
      array = array.copy()
      array[vocab.mask2_id] = array[vocab.mask_id]
    return array

  params = changed_arrays(model.params, model.config.layout.entities, copied)
  return dataclasses.replace(model, params=params)


def _with_added(model: ModelParts, *names: str) -> ModelParts:
  report = dataclasses.replace(model.report, added=(*model.report.added, *names))
  return dataclasses.replace(model, report=report)


def lite(model: ModelParts) -> ModelParts:
  """Returns the model with the special entities alone, in the order of the released lite models."""
  vocab = _processor(model).entity_vocab
  special = [name for name in (MASK, UNKNOWN, PAD, MASK2) if name in vocab.ids]
  rows = [vocab.ids[name] for name in special]
  params = changed_arrays(model.params, model.config.layout.entities, lambda _, x: x[rows])
  small = EntityVocab({name: i for i, name in enumerate(special)})
  return _with_entities(model, params, small)


def _processor(model: ModelParts) -> Processor:
  if not model.backbone.entities:
    raise InputError(f"a {model.config.title} without entities; expected a model that has some")
  if model.processor is None:
    raise InputError("the model has no text side; expected a tokenizer and entity_vocab.json")
  return model.processor


def check_sizes(model: ModelParts) -> None:
  """Raises InputError for a text side that makes other ids than the model has rows for."""
  words, entities = model.config.vocab_size, model.backbone.entities
  if model.tokenizer and model.tokenizer.vocab_size > words:
    raise InputError(f"tokenizer of {model.tokenizer.vocab_size} words; expected {words}")
  kinds = model.tokenizer.sizes if model.tokenizer else {}
  for name, size in kinds.items():
    rows = getattr(model.config, name)
    if size != rows:
      raise InputError(f"{WORDS_FILE}: {name} of {size}; expected {rows}, one for each row")
  if model.processor and entities and len(model.processor.entity_vocab) != entities:
    size = len(model.processor.entity_vocab)
    raise InputError(f"entity vocabulary of {size}; expected {entities}")


def _with_entities(model: ModelParts, params: dict, vocab: EntityVocab) -> ModelParts:
  processor = dataclasses.replace(_processor(model), entity_vocab=vocab)
  config = model.config.with_entities(len(vocab), vocab.pad_id)
  return dataclasses.replace(model.with_config(config, params), processor=processor)


def changed_arrays(
  params: dict, suffixes: tuple[str, ...], change: Callable[[str, np.ndarray], np.ndarray]
) -> dict:
  """Returns the parameters with the arrays changed whose paths end as given."""
  return keys.unflatten(
    {
      path: change(path, np.asarray(array)) if path.endswith(suffixes) else array
      for path, array in keys.flatten(params).items()
    }
  )
