"""Vectors of texts and of names in them, off an encoder; and of labels given at run time."""

import dataclasses
import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np

from luke_jax.convert.parts import ModelParts
from luke_jax.convert.reading import read
from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.formats.files import Faults
from luke_jax.heads.kinds import without_head
from luke_jax.inference.batches import MOST_ENTITIES, CompiledShapes, computed, shapes_of
from luke_jax.inference.settings import any_processor
from luke_jax.models.network import Network, apply
from luke_jax.models.system import NONE, System
from luke_jax.tasks.labels.wordings import in_words, keep_wordings, warn_of_same, wordings_of
from luke_jax.text import Row, TextInput
from luke_jax.text.rows import BOUNDARY_INPUTS, ENTITY_INPUTS, WORD_INPUTS, Sizes, padded
from luke_jax.text.text_inputs import text_inputs

PIECES = 64  # of a text that are read
Pool = Literal["mean", "first", "ends", "entities"]
OF_TEXTS, OF_SPANS = ("mean", "first"), ("ends", "entities")
READ = 512  # pieces of a text that are read together, at most
KEPT_VECTORS = 100_000  # vectors in memory, by directory and label
LISTS = 8  # of labels in memory


def encode(model: ModelParts, texts: Sequence[str], *, unit: bool = True) -> np.ndarray:
  """Returns the means of the texts' states, (N, D), each of length 1 unless they keep theirs."""
  inputs = [TextInput(" ".join(text.split()) or "?") for text in texts]
  rows = any_processor(model).encode(inputs, truncation=True)
  rows = [dataclasses.replace(row, input_ids=row.input_ids[:PIECES]) for row in rows]
  if not rows:
    return np.zeros((0, model.config.hidden_size), np.float32)
  vectors = np.stack(_pooled(model, rows, "mean"))
  norms = np.linalg.norm(vectors, axis=-1, keepdims=True)
  return vectors / np.maximum(norms, 1e-9) if unit else vectors


def embed(
  model: ModelParts, texts: str | Sequence[str], *, spans: Any = None, pool: Pool | None = None
) -> Any:
  """Returns a vector of a text (D,) or of each of a list (N, D), or one of each of its `spans`.

  Spans are pairs of characters; for a list of texts, a list of these for each, and the result is a
  list of arrays (S, D). `pool` is "mean" (of the states of all pieces) or "first" for texts, and
  for spans "ends", the mean of their first and last pieces, or "entities", the states of [MASK]
  entities there: by itself "mean", and "entities" where the model has these, else "ends". Texts
  longer than the model reads are read in windows: the mean is that of all, "first" of the first.
  """
  if not isinstance(model, ModelParts):
    raise InputError(f"embed: {model!r:.60}; expected a model, as luke_jax.load returns it")
  if pool is None:
    marks = "entities" if model.backbone.entities and model.processor else "ends"
    pool = "mean" if spans is None else marks
  able, place = (OF_TEXTS, "without") if spans is None else (OF_SPANS, "for")
  if pool not in able:
    raise InputError(f"pool: {pool!r}; expected {' or '.join(able)} {place} spans")
  if isinstance(texts, str):
    return vectors_of(model, {"text 0": TextInput(texts, entity_spans=spans)}, pool)[0]
  if not isinstance(texts, Iterable):
    raise InputError(f"texts: {texts!r:.60}; expected a text or a list of them")
  inputs = text_inputs(text=list(texts), entity_spans=spans)
  vectors = vectors_of(model, {f"text {i}": x for i, x in enumerate(inputs)}, pool)
  if spans is not None:
    return vectors
  return np.stack(vectors) if vectors else np.zeros((0, model.config.hidden_size), np.float32)


def vectors_of(
  model: ModelParts,
  texts: Mapping[str, TextInput],
  pool: Pool,
  shapes: CompiledShapes | None = None,
  faults: Faults | None = None,
) -> list[np.ndarray]:
  """Returns the vector of each text, (D,), or those of its spans, (S, D); texts have places."""
  inputs = list(texts.values())
  of_spans, room = pool in OF_SPANS, min(READ, model.config.room_for_words)
  processor = any_processor(model, (pool,) if pool == "entities" else ())
  processor = dataclasses.replace(processor, max_length=room, task=None)
  stride = room // 2 if of_spans else room - processor.tokenizer.special.around(1)
  rows = processor.windows(inputs, stride=stride, offsets=False)
  width = model.config.hidden_size
  sums = [np.zeros((len(x.entity_spans or ()), width) if of_spans else width) for x in inputs]
  weights = [np.zeros(x.shape[:-1]) for x in sums]
  for row, vectors in zip(rows, _pooled(model, rows, pool, shapes), strict=True):
    total, weight = sums[row.example], weights[row.example]
    if of_spans:  # those of several windows are read in the first
      for entity, vector in zip(row.entities or (), vectors, strict=False):
        if not weight[entity.number]:
          total[entity.number], weight[entity.number] = vector, 1
    elif pool == "mean" or not weight:
      pieces = len(row.input_ids)
      total += vectors * pieces
      weight += pieces
  for (place, text), weight in zip(texts.items(), weights, strict=True):
    if not np.all(weight):
      span = (text.entity_spans or ())[int(np.argmin(weight))]
      with (faults or Faults()).caught():
        raise InputError(f"{place}: span {span}: more than {room} pieces; expected a name")
  pairs = zip(sums, weights, strict=True)
  return [(total / np.maximum(weight, 1)[..., None]).astype(np.float32) for total, weight in pairs]


def _pooled(
  model: ModelParts, rows: Sequence[Row], pool: Pool, shapes: CompiledShapes | None = None
) -> list[np.ndarray]:
  """Returns a vector of each row, or of each entity of it."""
  network, params = model.predicting
  network, params = without_head(Network(network.backbone), params)
  processor = any_processor(model)
  pads = model.config.pad_token_id, processor.entity_vocab.pad_id
  names = WORD_INPUTS + {"entities": ENTITY_INPUTS, "ends": BOUNDARY_INPUTS}.get(pool, ())

  def run(some: Sequence[Row], size: Sizes) -> Mapping[str, Any]:
    beside = dict(model.config.beside(size.words))
    return _vectors(network, params, padded(some, size, *pads, names=names, extra=beside), pool)

  room = min(READ, model.config.room_for_words)
  most = Sizes(room, MOST_ENTITIES, processor.max_mention_length)
  shapes = shapes or shapes_of(model.backbone, pool)
  found = computed(rows, most, run, shapes, entity_tokens=pool in OF_SPANS)
  return found.get("vectors", [])


@functools.partial(jax.jit, static_argnames=("network", "pool"))
def _vectors(
  network: Network, params: Any, inputs: dict[str, jax.Array], pool: Pool
) -> dict[str, jax.Array]:
  places = [inputs[name] for name in BOUNDARY_INPUTS if name in inputs]
  read = {name: x for name, x in inputs.items() if name not in BOUNDARY_INPUTS}
  found = apply(network, params, read)
  words = found["last_hidden_state"].astype(jnp.float32)
  if pool == "entities":
    return {"vectors": found["entity_last_hidden_state"].astype(jnp.float32)}
  if pool == "ends":
    ends = [jnp.take_along_axis(words, x[..., None], axis=1) for x in places]
    return {"vectors": (ends[0] + ends[1]) / 2}
  if pool == "first":
    return {"vectors": words[:, 0]}
  mask = inputs["attention_mask"].astype(jnp.float32)
  return {"vectors": jnp.einsum("bwd,bw->bd", words, mask) / mask.sum(-1, keepdims=True)}


class LabelReader:
  """A model that reads labels, and the vectors of those that it has read."""

  def __init__(self, model: ModelParts, *, as_written: bool = False):
    self.model, self._as_written = model, as_written
    self._vectors: dict[str, np.ndarray] = {}
    self._odd: dict[str, str] = {}  # words that it does not know, by label
    self._processor = any_processor(model)
    self._asked: dict[str, tuple[dict[str, str], np.ndarray]] = {}

  def read(
    self, labels: Iterable[str] | Mapping[str, str], *, known: bool
  ) -> tuple[dict[str, str], np.ndarray]:
    """Returns labels by name with what is read of each, and their vectors.

    Those that were asked for last are kept: a thousand take as long as the rest of a sentence.
    """
    given = labels if isinstance(labels, str | Mapping) else tuple(labels)
    key = repr((known, given))
    found = self._asked.get(key)
    if found is None:
      wordings = wordings_of(given)
      found = wordings, self.vectors(list(wordings.values()), known=known)
      warn_of_same(wordings, {text: self._as_read(text) for text in wordings.values()})
      self._asked[key] = found
      for old in list(self._asked)[:-LISTS]:
        self._asked.pop(old, None)
    return found

  def vectors(self, texts: Sequence[str], *, known: bool = False) -> np.ndarray:
    """Returns the vectors of labels, (N, D); each label is read once.

    Raises InputError for a label without a word that the model knows; with `known`, for one with a
    word that it does not know.
    """
    new = [text for text in dict.fromkeys(texts) if text not in self._vectors]
    if new:
      self._check(new)
    if odd := next((x for x in texts if x in self._odd), None) if known else None:
      raise InputError(
        f"labels: {odd!r:.40}: not known to the model: {self._odd[odd]}; expected words"
      )
    if new:
      if len(self._vectors) + len(new) > KEPT_VECTORS:
        self._vectors.clear()
        new = list(dict.fromkeys(texts))
      read = [self._as_read(text) for text in new]
      found = encode(self.model, read, unit=not self._as_written)
      self._vectors |= zip(new, found, strict=True)
    return np.stack([self._vectors[text] for text in texts])

  def _as_read(self, label: str) -> str:
    return label if self._as_written else in_words(label, self._is_word)

  def _is_word(self, text: str) -> bool:
    return len(self._pieces(text)) == 1

  def _pieces(self, text: str) -> list[int]:
    return self._processor.encode([TextInput(text)])[0].input_ids[1:-1].tolist()

  def _check(self, texts: Sequence[str]) -> None:
    """Raises InputError for labels that are too long, or of which the model knows no word."""
    unknown = self._processor.tokenizer.special.unknown
    rows = self._processor.encode([TextInput(x) for x in texts], truncation=True)
    for text, row in zip(texts, rows, strict=True):
      pieces = row.input_ids[1:-1]
      if len(row.input_ids) > PIECES:
        expected = "expected a shorter label"
        raise InputError(f"labels: {text!r:.40}: more than {PIECES - 2} word pieces; {expected}")
      if all(piece == unknown for piece in pieces.tolist()):
        raise InputError(f"labels: {text!r:.40}: no word that the model knows; expected one")
      if unknown in pieces:
        words = (word for word in text.split() if unknown in self._pieces(word))
        self._odd[text] = ", ".join(words) or "a part of it"


@functools.lru_cache(4)
def reader_of(directory: Path, system: type[System] | None = None) -> LabelReader:
  """Returns the reader of labels in a directory; there is one for all models that start from it.

  Of a model with an encoder for labels, `system` reads that from its files.
  """
  if system is None:
    return LabelReader(read(directory))
  return LabelReader(read(directory, system=system, head=NONE), as_written=True)


def label_settings(
  model: ModelParts, labels: Iterable[str] | Mapping[str, str], *, known: bool
) -> dict[str, object]:
  """Returns the settings of a task that asks for labels, whose vectors are in memory.

  With `known`, raises InputError for a label with a word that the model does not know.
  """
  if model.reader is None and (prompted := _prompted(model, labels)):
    return prompted
  if model.reader is None:
    expected = "expected what luke_jax saves, or the adapter that a training wrote"
    raise InputError(f"labels: the model is without the one that reads them; {expected}")
  system = model.config.labels_read_as
  reader = reader_of(model.reader, system) if system else reader_of(model.reader)
  wordings, vectors = reader.read(labels, known=known)
  # A name may be read as different things: the table has names, and is known by what was read.
  read = "\n".join((str(model.reader), *wordings.values()))
  return {"labels": tuple(wordings), "table": keep_wordings(tuple(wordings), vectors, read)}


def _prompted(
  model: ModelParts, labels: Iterable[str] | Mapping[str, str]
) -> dict[str, object] | None:
  """Returns the settings of a task whose model reads labels before each text, if it does."""
  wordings, head = wordings_of(labels), model.network.head
  texts = list(wordings.values())
  prompt = None if head is None else head.prompt(any_processor(model).tokenizer, texts)
  if prompt is None:
    return None
  table = keep_wordings(tuple(wordings), prompt.vectors, f"{model.architecture} {prompt.ids}")
  return {"labels": tuple(wordings), "table": table, "prompt": prompt.ids}
