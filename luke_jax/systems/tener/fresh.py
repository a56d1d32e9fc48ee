"""Models of whole words that know nothing yet, with the vocabularies of a user's files."""

import dataclasses
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import jax
import numpy as np

from luke_jax.convert.parts import ModelParts
from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.formats.files import Faults
from luke_jax.models.network import Network, initial_params
from luke_jax.models.system import Backbone
from luke_jax.systems.tener.config import SIZES, TenerConfig
from luke_jax.tasks.tagging.task import Tagging
from luke_jax.text.whole_words import (
  END,
  PLAIN,
  SPECIAL,
  Vocabularies,
  WholeWordTokenizer,
  read_sentence_vectors,
  read_word_vectors,
)


@dataclasses.dataclass(frozen=True)
class Choices:
  """Settings of a fresh model's vocabularies."""

  characters: bool = False
  """Take every character of the files' words as a word, as is usual in Chinese."""
  digits_as_zero: bool = False
  """Read every digit as 0."""
  bigrams: bool = False
  """Give pairs of neighbouring words embeddings of their own."""
  least_bigrams: int = 1
  """Number of times that a bigram stands in the training file at least."""
  least_characters: int = 2
  """Number of times that a character does."""
  character_encoder: Literal["adatrans", "transformer", "cnn", "none"] = "adatrans"
  """Encoder of a word's characters."""
  columns: str = ""
  """Columns of the files: word, tag or _ (not read) for each, as _,word,tag; else a guess."""
  keep_scale: bool = False
  """Leave vectors as files have them, instead of scaling each to a variance of one."""


class Coverage(NamedTuple):
  """Vectors of a file for the entries of a vocabulary, and for their uses in the training file."""

  name: str
  entries: int
  exact: int  # entries with a vector
  lower: int  # with the one of their lower case
  uses: int
  covered: int  # uses whose entry has a vector

  def __str__(self) -> str:
    missing = self.entries - self.exact - self.lower
    share = 100 * self.covered / max(self.uses, 1)
    return (
      f"{self.name}: {self.entries} entries, {self.exact} with a vector, {self.lower} with that of"
      f" their lower case, {missing} without; {share:.1f}% of {self.uses} in the training file have"
      " one"
    )


class Files(NamedTuple):
  """Files that a fresh model is made from."""

  train: Path
  also: Sequence[Path] = ()  # more files, whose words count if they have a vector
  words: Path | None = None  # vectors of words
  bigrams: Path | None = None  # vectors of bigrams
  sentences: Path | None = None  # a folder of vectors of every word of the files


def fresh_model(
  size: str, files: Files, choices: Choices, seed: int = 0
) -> tuple[ModelParts, list[Coverage]]:
  """Returns a model of a size that has a name, without a head, and what its vectors cover."""
  if size not in SIZES:
    raise InputError(f"size: {size!r}; expected one of {', '.join(SIZES)}")
  train, others = _sentences(files.train, choices), []
  if not any(train):
    raise InputError(f"{files.train}: no words; expected sentences, whose words are the vocabulary")
  for path in files.also:
    others += _sentences(path, choices)
  used, tables, coverages = _used(train, choices), {}, []
  more = _used(others, choices)
  entries: dict[str, tuple[str, ...]] = {}
  for name, first, path in (
    ("words", SPECIAL, files.words),
    ("characters", PLAIN, None),
    ("bigrams", PLAIN, files.bigrams),
  ):
    words = _frequent(used[name], choices, name)
    vectors = _vectors(path, {*words, *more[name]}, choices) if path else {}
    words += [x for x in more[name] if x not in used[name] and _vector(vectors, x) is not None]
    entries[name] = (*first, *(x for x in words if x not in first)) if words else ()
    if path:
      tables[name] = vectors
      coverages.append(
        _coverage(f"{path}: {name}", used[name], entries[name][len(first) :], vectors)
      )
  config = _config(SIZES[size], choices, entries, tables)
  if files.sentences:
    layers, width = read_sentence_vectors(files.sentences).shape
    config = dataclasses.replace(config, vector_size=width, vector_layers=layers)
  tokenizer = WholeWordTokenizer(Vocabularies(**entries, digits_as_zero=choices.digits_as_zero))
  network = Network(Backbone(config))
  params = jax.device_get(initial_params(network, jax.random.key(seed)))
  for name, vectors in tables.items():
    table = params["tener"][name.removesuffix("s")]
    table["embedding"] = _filled(table["embedding"], entries[name], vectors)
  return ModelParts(network, params, tokenizer=tokenizer), coverages


def _sentences(path: Path, choices: Choices) -> list[list[str]]:
  columns = tuple(choices.columns.split(",")) if choices.columns else ()
  task = Tagging(characters=choices.characters, columns=columns)
  return [
    [example.text[start:end] for start, end in words]
    for example in task.read(path, Faults())
    for words in example.sentences
  ]


def _used(sentences: Iterable[Sequence[str]], choices: Choices) -> dict[str, Counter[str]]:
  """Returns how often each word, character and bigram stands in sentences."""
  words, characters, bigrams = Counter[str](), Counter[str](), Counter[str]()
  spelling = Vocabularies(SPECIAL, digits_as_zero=choices.digits_as_zero)
  for sentence in sentences:
    spelt = [spelling.spelt(word) for word in sentence]
    words.update(spelt)
    if choices.character_encoder != "none":
      characters.update("".join(spelt))
    if choices.bigrams:
      bigrams.update(map("".join, zip(sentence, [*sentence[1:], END], strict=True)))
  return {"words": words, "characters": characters, "bigrams": bigrams}


def _frequent(counts: Counter[str], choices: Choices, name: str) -> list[str]:
  """Returns the entries of a vocabulary, the most frequent first."""
  least = {"characters": choices.least_characters, "bigrams": choices.least_bigrams}.get(name, 1)
  return [x for x, count in sorted(counts.items(), key=lambda x: (-x[1], x[0])) if count >= least]


def _vectors(path: Path, wanted: set[str], choices: Choices) -> dict[str, np.ndarray]:
  read = read_word_vectors(path, wanted | {x.lower() for x in wanted})
  if choices.keep_scale:
    return read
  return {word: vector / max(float(vector.std()), 1e-12) for word, vector in read.items()}


def _vector(vectors: Mapping[str, np.ndarray], entry: str) -> np.ndarray | None:
  return vectors.get(entry, vectors.get(entry.lower()))


def _coverage(
  name: str, used: Counter[str], entries: Sequence[str], vectors: Mapping[str, np.ndarray]
) -> Coverage:
  exact = [x for x in entries if x in vectors]
  lower = [x for x in entries if x not in vectors and x.lower() in vectors]
  covered = sum(used[x] for x in (*exact, *lower))
  return Coverage(name, len(entries), len(exact), len(lower), used.total(), covered)


def _config(
  size: TenerConfig,
  choices: Choices,
  entries: Mapping[str, Sequence[str]],
  tables: Mapping[str, Mapping[str, np.ndarray]],
) -> TenerConfig:
  widths: dict[str, Any] = {
    f"{name.removesuffix('s')}_size": len(next(iter(vectors.values())))
    for name, vectors in tables.items()
    if vectors
  }
  if choices.character_encoder != "none":
    widths["character_encoder"] = choices.character_encoder
  return dataclasses.replace(
    size,
    vocab_size=len(entries["words"]),
    character_vocab_size=len(entries["characters"]),
    bigram_vocab_size=len(entries["bigrams"]),
    **widths,
  )


def _filled(
  table: np.ndarray, entries: Sequence[str], vectors: Mapping[str, np.ndarray]
) -> np.ndarray:
  """Returns a table whose entries with a vector have it."""
  rows = np.array(table)
  for row, entry in zip(rows, entries, strict=True):
    vector = _vector(vectors, entry)
    if vector is not None:
      row[:] = vector
  return rows
