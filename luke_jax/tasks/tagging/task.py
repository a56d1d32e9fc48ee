"""Tagging as the engine trains it: logits of words to tags, and tags to entities."""

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.formats.files import Faults
from luke_jax.heads.labels import ChainHead, unpacked
from luke_jax.models.network import Network
from luke_jax.models.system import Backbone
from luke_jax.nn import crf
from luke_jax.nn.losses import IGNORED, target_weights
from luke_jax.tasks.contract import RowLogits, TextTask
from luke_jax.tasks.evaluation import Evaluation
from luke_jax.tasks.ner import files, score
from luke_jax.tasks.ner.columns import check_names
from luke_jax.tasks.ner.documents import NamesExample, by_characters, labelled, to_words
from luke_jax.tasks.ner.tags import PREFIXES, Scheme, is_tag, may_follow, scheme_of_labels
from luke_jax.tasks.predictions import Missed, Span, TaggedSpans
from luke_jax.tasks.tagging import features
from luke_jax.tasks.tagging.features import WordVectors, spans_of
from luke_jax.text import Processor, Row
from luke_jax.text.rows import Sizes
from luke_jax.training.task import Batch

NOT_TAGGED = "no whole words of a sentence, or within another"


@dataclasses.dataclass(frozen=True)
class Tagging(files.NamesOfFiles, TextTask[NamesExample, TaggedSpans]):
  """Finds the entities of texts by a tag for every word."""

  labels: tuple[str, ...] = ()  # tags; none: O, and those that the training file's entities need
  words: int = 512  # the longest row
  scheme: Scheme | None = None  # of the tags; null: that of the labels, for new ones IOB2
  crf: bool = False  # the best path of tags by a conditional random field, not each tag alone
  constrained: bool = False  # with crf: paths that the scheme forbids have no part in the loss
  lenient: bool = False  # read predicted tags that are not legal where they stand as conlleval does
  # Tag every character of a file's words, as is usual in Chinese; files count characters then.
  characters: bool = False
  word_vectors: str = ""  # folder of vectors of every word of the files, for a model of such

  name: ClassVar[str] = "tagging"
  answer: ClassVar[type | None] = Span
  english_start: ClassVar[str] = "labels"
  metric: ClassVar[str] = "f1"
  heads: ClassVar[tuple[str, ...]] = ("token", "crf")

  def __post_init__(self) -> None:
    super().__post_init__()
    check_names(self.columns)
    if self.constrained and not self.crf:
      raise InputError("constrained: true; expected it with crf=true, whose loss is over paths")
    allowed = f"O{PREFIXES[self.scheme]}" if self.scheme else "OBIMES"
    for tag in self.labels:
      if not is_tag(tag) or tag[0] not in allowed:
        raise InputError(f"labels: {tag!r}; expected tags such as {', '.join(allowed[1:])}-PER")
    if self.labels and "O" not in self.labels:
      raise InputError(f"labels: {', '.join(self.labels[:20])}; expected O among them")

  @property
  def extra_inputs(self) -> tuple[WordVectors, ...]:
    """Returns the vectors of words, which the model may read or not."""
    return (WordVectors(self.word_vectors),)

  @property
  def sizes(self) -> Sizes:
    """Returns a row's room for words, for entities and for the pieces of a mention."""
    return Sizes(self.words, 1, 1)

  @property
  def head(self) -> str:
    """Returns the kind of head."""
    return "crf" if self.crf else "token"

  @property
  def tag_scheme(self) -> Scheme:
    """Returns the scheme of the tags."""
    return self.scheme or scheme_of_labels(self.labels)

  def network(self, backbone: Backbone) -> Network:
    """Returns a backbone with the task's head."""
    network = super().network(backbone)
    if not self.constrained or not isinstance(network.head, ChainHead):
      return network
    legal = legal_neighbours(self.labels, self.tag_scheme)
    return Network(backbone, network.head.clone(legal=legal))

  def check_training(self, examples: Sequence[NamesExample], rows: Sequence[Row]) -> None:
    """Raises InputError if there is no entity to learn."""
    if not any(features.spans_apart(x) for x in examples):
      raise InputError(f"{self.train}: no entities that can be tagged; expected one at least")

  def read(self, path: Path, faults: Faults) -> list[NamesExample]:
    """Reads the documents of a file."""
    return [self._in_units(example) for example in super().read(path, faults)]

  def parse(self, value: Mapping[str, object], id: str, place: str) -> NamesExample:
    """Returns the document in an object of JSON lines."""
    return self._in_units(super().parse(value, id, place))

  def _in_units(self, example: NamesExample) -> NamesExample:
    return by_characters(example) if self.characters else example

  def found_labels(self, examples: Sequence[NamesExample]) -> tuple[str, ...]:
    """Returns O and the tags of the labels of a file, in alphabetical order."""
    labels = sorted({span.label for example in examples for span in example.spans or ()})
    if not labels:
      raise InputError(
        f"{self.train}: no names in {len(examples)} documents; expected one at least"
      )
    prefixes = PREFIXES[self.scheme or "IOB2"]
    return ("O", *(f"{prefix}-{label}" for label in labels for prefix in prefixes))

  def check_example(self, example: NamesExample) -> None:
    """Raises InputError for a document without entities, or with a label that the model lacks."""
    files.check_spans(example, sorted({tag[2:] for tag in self.labels if tag != "O"}))

  def label_of_name(self, name: str) -> str:
    """Returns the tag of a name's first word."""
    return f"B-{name}"

  def missed(self, example: NamesExample, rows: Sequence[Row] | None) -> Sequence[Missed]:
    """Returns the entities of a document that tags cannot say."""
    spans = example.spans or ()
    apart = set(features.spans_apart(example))
    return [
      Missed(example.place_of(span.start), example.text[span.start : span.end], NOT_TAGGED)
      for span, words in zip(spans, to_words(example, spans), strict=True)
      if words not in apart
    ]

  def counted_labels(self, examples: Sequence[NamesExample]) -> str:
    """Returns what a training says of the labels, without their prefixes."""
    names = dict.fromkeys(tag[2:] for tag in self.labels if tag != "O")
    return f"{len(names)}: {', '.join(names)}"

  def own_data(self, pools_means: bool, given: Collection[str]) -> Mapping[str, object]:
    """Returns settings that suit people's files: the best path of tags."""
    return {"crf": True}

  @property
  def title(self) -> str:
    """Returns what it is called."""
    return "names by a tag for each word"

  def features(
    self, processor: Processor, examples: Sequence[NamesExample], faults: Faults | None = None
  ) -> list[Row]:
    """Returns the rows of each sentence."""
    return features.features(
      processor,
      examples,
      self.tag_scheme,
      numbers={tag: number for number, tag in enumerate(self.labels)},
      context=self.context,
      vectors=self.word_vectors,
      faults=faults or Faults(skip=self.skip_bad),
    )

  def label_shape(self, sizes: Sizes) -> tuple[int, ...]:
    """Returns the shape of a row's labels: one for each word piece."""
    return (sizes.words,)

  def weights(self, batch: Batch) -> jax.Array:
    """Returns the weights of a batch's tags or, with crf, of its rows."""
    mask = batch["labels"] != IGNORED
    return target_weights(mask.any(1) if self.crf else mask)

  def decode(
    self, examples: Sequence[NamesExample], rows: Sequence[Row], outputs: RowLogits
  ) -> list[TaggedSpans]:
    """Returns the entities of each document, in order, and its tags."""
    scheme = self.tag_scheme
    best = best_tags(rows, outputs, self.labels, scheme)
    read_as = None if self.lenient else scheme
    return tagged_spans(examples, rows, best, self.labels, scheme=read_as)

  def evaluate(
    self, examples: Sequence[NamesExample], predictions: Sequence[TaggedSpans]
  ) -> Evaluation:
    """Returns F1 of entities, the figures around it, and F1 of tags as conlleval reads them."""
    evaluation = score.evaluate(examples, predictions)
    any_tags = [
      set(labelled(spans_of(x, tagged.tags, tagged.scores, None)))
      for x, tagged in zip(examples, predictions, strict=True)
    ]
    lenient = score.score([set(x.spans or ()) for x in examples], any_tags)
    scores = {**evaluation.scores, "lenient_f1": lenient["f1"]}
    return dataclasses.replace(evaluation, scores=scores)

  def to_prediction(self, example: NamesExample, prediction: TaggedSpans) -> dict[str, object]:
    """Returns a document's line in a file of predictions."""
    return files.to_prediction(example, prediction) | {"tags": list(prediction.tags)}


ROWS_TOGETHER = 64  # rows, of like length, whose best paths are looked for at once
LEAST_PADDED_ROWS = 8  # a smaller number of rows is padded to
SHORTEST = 16  # padded number of words
Best = tuple[np.ndarray, np.ndarray]  # of a row's words: numbers of tags, and their probabilities


def legal_neighbours(labels: Sequence[str], scheme: Scheme) -> tuple[tuple[bool, ...], ...]:
  """Returns the tags that may follow each tag, begin and end a sentence, as booleans (C + 2, C)."""
  rows = [tuple(may_follow(tag, before, scheme) for tag in labels) for before in (*labels, "O")]
  return (*rows, tuple(may_follow("O", before, scheme) for before in labels))


def best_tags(
  rows: Sequence[Row], outputs: RowLogits, labels: Sequence[str], scheme: Scheme
) -> list[Best]:
  """Returns the best tags of each row: of each word alone or, with a chain, the best legal path."""
  logits = [
    np.asarray(outputs["logits"][i], np.float32)[row.source.pieces, : len(labels)]
    for i, row in enumerate(rows)
  ]
  if "chain" in outputs and rows:
    legal = np.array(legal_neighbours(labels, scheme))
    chain = np.where(legal, np.asarray(outputs["chain"][0], np.float32), crf.FORBIDDEN)
    return _best_paths(logits, chain)
  return [_best_alone(of_row) for of_row in logits]


def _best_alone(logits: np.ndarray) -> Best:
  best = logits.argmax(-1)
  top = logits.max(-1, keepdims=True)
  return best, 1 / np.exp(logits - top).sum(-1)


def _best_paths(logits: Sequence[np.ndarray], chain: np.ndarray) -> list[Best]:
  """Returns the best paths of rows; padded to few shapes, since each is compiled."""
  best: list[Any] = [None] * len(logits)
  by_length: dict[int, list[int]] = {}
  for i, of_row in enumerate(logits):
    by_length.setdefault(max(SHORTEST, 1 << (len(of_row) - 1).bit_length()), []).append(i)
  for length, alike in by_length.items():
    for first in range(0, len(alike), ROWS_TOGETHER):
      numbers = alike[first : first + ROWS_TOGETHER]
      height = LEAST_PADDED_ROWS if len(numbers) <= LEAST_PADDED_ROWS else ROWS_TOGETHER
      shape = (height, length, chain.shape[1])
      emissions, mask = np.zeros(shape, np.float32), np.zeros(shape[:2], bool)
      for place, i in enumerate(numbers):
        emissions[place, : len(logits[i])], mask[place, : len(logits[i])] = logits[i], True
      paths, scores = map(np.asarray, _paths(emissions, mask, chain))
      for place, i in enumerate(numbers):
        best[i] = paths[place, : len(logits[i])], scores[place, : len(logits[i])]
  return best


@jax.jit
def _paths(emissions: jax.Array, mask: jax.Array, chain: jax.Array) -> tuple[jax.Array, jax.Array]:
  scores = unpacked(chain)
  paths, _ = crf.best_paths(emissions, mask, scores)
  chances = crf.marginals(emissions, mask, scores)
  chosen = jnp.maximum(paths, 0)[..., None]
  return paths, jnp.take_along_axis(chances, chosen, axis=-1)[..., 0]


def tagged_spans(
  examples: Sequence[NamesExample],
  rows: Sequence[Row],
  best: Sequence[Best],
  labels: Sequence[str],
  *,
  scheme: Scheme | None,
) -> list[TaggedSpans]:
  """Returns each document's entities: those of legal tags or, without a scheme, of any.

  A word in several rows has the tag of that in whose middle it stands. One without pieces is O.
  """
  chosen = [np.full(len(example.words), -1) for example in examples]
  scores = [np.ones(len(example.words)) for example in examples]
  depths = [np.full(len(example.words), -1) for example in examples]
  for row, (numbers, chances) in zip(rows, best, strict=True):
    place = np.arange(len(numbers))
    depth, of, words = np.minimum(place, place[::-1]), row.example, row.source.words
    deeper = depth > depths[of][words]
    for arrays, values in ((depths, depth), (scores, chances), (chosen, numbers)):
      arrays[of][words[deeper]] = values[deeper]
  names = (*labels, "O")  # the last of words that no row has
  tags = [tuple(names[number] for number in numbers) for numbers in map(np.ndarray.tolist, chosen)]
  return [
    TaggedSpans(tuple(spans_of(example, word_tags, chances, scheme)), word_tags, tuple(chances))
    for example, word_tags, chances in zip(
      examples, tags, map(np.ndarray.tolist, scores), strict=True
    )
  ]
