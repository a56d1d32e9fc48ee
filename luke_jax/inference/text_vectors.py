"""Vectors of texts, means of an encoder's states; and of labels that are given at run time."""

import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from luke_jax.convert.parts import ModelParts
from luke_jax.convert.reading import read
from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.heads.kinds import without_head
from luke_jax.inference.settings import any_processor
from luke_jax.models.network import Network
from luke_jax.models.system import NONE, System
from luke_jax.tasks.labels.wordings import in_words, keep_wordings, warn_of_same, wordings_of
from luke_jax.text import TextInput

PIECES = 64  # of a text that are read
SHORT_PIECES = 8  # pieces of most labels
BATCH = 64
KEPT_VECTORS = 100_000  # vectors in memory, by directory and label
LISTS = 8  # of labels in memory


def encode(model: ModelParts, texts: Sequence[str], *, unit: bool = True) -> np.ndarray:
  """Returns the means of the texts' states, (N, D), each of length 1 unless they keep theirs."""
  processor = any_processor(model)
  network, params = without_head(Network(model.backbone), model.params)
  vectors = np.zeros((len(texts), model.config.hidden_size), np.float32)
  order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
  for first in range(0, len(order), BATCH):
    chosen = order[first : first + BATCH]
    inputs = [TextInput(" ".join(texts[i].split()) or "?") for i in chosen]
    rows = processor.encode(inputs, truncation=True)
    longest = max(min(len(row.input_ids), PIECES) for row in rows)
    width = SHORT_PIECES if longest <= SHORT_PIECES else -(-longest // 16) * 16
    words = np.full((BATCH, width), model.config.pad_token_id, np.int32)
    mask = np.zeros((BATCH, width), np.int32)
    for place, row in enumerate(rows):
      pieces = row.input_ids[:width]
      words[place, : len(pieces)], mask[place, : len(pieces)] = pieces, 1
    vectors[chosen] = np.asarray(_means(network, params, words, mask, unit))[: len(chosen)]
  return vectors


@functools.partial(jax.jit, static_argnames=("network", "unit"))
def _means(
  network: Network, params: Any, words: jax.Array, mask: jax.Array, unit: bool
) -> jax.Array:
  found: Any = network.apply({"params": params}, input_ids=words, attention_mask=mask)
  states = found["last_hidden_state"].astype(jnp.float32)
  total = jnp.einsum("bwd,bw->bd", states, mask.astype(jnp.float32))
  if not unit:
    return total / mask.sum(-1, keepdims=True).clip(1)
  return total / jnp.maximum(jnp.linalg.norm(total, axis=-1, keepdims=True), 1e-9)


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
