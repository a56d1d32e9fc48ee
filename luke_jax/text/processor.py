"""Texts with entity spans -> the arrays the model takes."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from luke_jax.errors import InputError, at
from luke_jax.files import Path, read_json_object
from luke_jax.text import tokenizer_files
from luke_jax.text.entity_vocab import (
  FILES,
  SPECIAL_ENTITIES,
  EntityVocab,
  load_entity_vocab,
  save_entity_vocab,
)
from luke_jax.text.parts import (
  Part,
  ReadAs,
  as_written,
  centred,
  even_groups,
  longest_first,
  sliding,
  tokenized,
)
from luke_jax.text.rows import (
  BOUNDARY_INPUTS,
  ENTITY_INPUTS,
  WORD_INPUTS,
  EntityReading,
  Lengths,
  Origin,
  Room,
  Row,
  Sizes,
  Widths,
  enclosed,
  padded,
  padded_length,
  whole_number,
)
from luke_jax.text.text_inputs import MARKED, TASKS, Task, TextInput, mentions, text_inputs
from luke_jax.text.tokenizer import SPECIAL, Bounds, Tokenizer

# Fields of a processor under the names they have in tokenizer_config.json.
SETTINGS = {
  "task": "task",
  "model_max_length": "max_length",
  "max_entity_length": "max_entity_length",
  "max_mention_length": "max_mention_length",
}


@dataclass(frozen=True)
class Processor:
  """Turns texts with entity spans into the model's inputs, as LUKE's tokenizers do elsewhere.

  Calling it is the short way. `encode` and `windows` give rows that know where their tokens come
  from, `pad` makes arrays of rows. What does not fit is refused, or reported where it was asked
  for; but of a mention with more than `max_mention_length` tokens the model sees the first ones.

  A multilingual vocabulary needs the `language` of the titles, or titles written `en:Title`.
  """

  tokenizer: Tokenizer
  entity_vocab: EntityVocab
  task: Task | None = None
  max_length: int = 512
  max_entity_length: int = 32
  max_mention_length: int = 30
  language: str | None = None
  token_types: bool = False  # tell the two texts of a pair apart, as BERT does
  read_as: ReadAs = as_written  # how pieces of text between edges of entities are read
  # Words of the vocabulary that enclose the entities of a task, one for each; none: the markers.
  marker_words: tuple[str, ...] = ()
  entity_reading: EntityReading = "attended"
  # Lengths that a call pads to where it names none itself; without them, that of the longest row.
  widths: Widths | None = None

  def __post_init__(self):
    if self.task is not None and self.task not in TASKS:
      raise InputError(f"task {self.task!r}; expected None or one of {', '.join(TASKS)}")
    if not isinstance(self.entity_vocab, EntityVocab):
      actual = type(self.entity_vocab).__name__
      raise InputError(f"entity_vocab: a {actual}; expected an EntityVocab")
    for name, least in (("max_length", 5), ("max_entity_length", 1), ("max_mention_length", 1)):
      object.__setattr__(self, name, whole_number(name, getattr(self, name), least))
    for entity in MARKED.get(self.task, ()):
      self.entity_vocab.id(entity)  # refuses a vocabulary that lacks it
    for word in self.marker_words if self.task in MARKED else ():
      if self.tokenizer.piece_id(word) == self.tokenizer.special.unknown:
        raise InputError(f"tokenizer: no {word!r} in it; expected it, to enclose entities")
    if self.task in MARKED and not self._marker_ids:
      raise InputError(f"task {self.task}: no markers in the tokenizer; expected <ent> and <ent2>")
    if self.language is not None:
      self.entity_vocab.check_language(self.language)

  @property
  def reads_words_once(self) -> bool:
    """Returns true if words' states do not depend on which entities are in their row."""
    return self.entity_reading != "attended"

  def __call__(
    self,
    text: str | Sequence[str],
    text_pair: str | Sequence[str] | None = None,
    *,
    entity_spans: Sequence[Bounds] | Sequence[Sequence[Bounds]] | None = None,
    entities: Sequence[str] | Sequence[Sequence[str]] | None = None,
    entity_spans_pair: Sequence[Bounds] | Sequence[Sequence[Bounds]] | None = None,
    entities_pair: Sequence[str] | Sequence[Sequence[str]] | None = None,
    word_lengths: Lengths = None,
    entity_lengths: Lengths = None,
    padding: Literal["longest"] | None = None,
  ) -> dict[str, np.ndarray]:
    """The model's inputs for one text, or for a list of texts with a list for every argument.

    They are padded to the smallest of the lengths given, or of `widths`, that holds the longest;
    with `padding="longest"` as transformers has it, to no more than the longest.
    """
    if padding not in (None, "longest"):
      raise InputError(f"padding: {padding!r}; expected 'longest', or lengths to pad to")
    if self.widths and padding is None:
      if word_lengths is None:
        word_lengths = _up_to(self.widths.words, self.max_length)
      if entity_lengths is None:
        entity_lengths = (0, *_up_to(self.widths.entities, self._entity_room))
    rows = self.encode(
      text_inputs(
        text=text,
        text_pair=text_pair,
        entity_spans=entity_spans,
        entities=entities,
        entity_spans_pair=entity_spans_pair,
        entities_pair=entities_pair,
      )
    )
    return self.pad(rows, word_lengths=word_lengths, entity_lengths=entity_lengths)

  def encode(
    self, examples: Sequence[TextInput], *, truncation: bool = False, offsets: bool = False
  ) -> list[Row]:
    """One row for each example.

    With `truncation` the end of a text that is too long is left out (of a pair, the end of the
    longer), and so are its entities, whose numbers are in `dropped`. Without it such a text is
    refused.
    """
    rows, beside = [], self.tokenizer.whole_words
    for number, parts in enumerate(self._parts(examples, offsets or beside)):
      shortened = self._truncated(parts) if truncation else parts
      self._check_fit(shortened, f"example {number}")
      dropped = _numbers(parts) - _numbers(shortened)
      row = self._row(examples[number], number, shortened, dropped)
      rows.append(self._with_beside(row, examples[number].text) if beside else row)
    return rows

  def windows(
    self, examples: Sequence[TextInput], *, stride: int = 128, offsets: bool = True
  ) -> list[Row]:
    """As many rows for each example as its text, or the second text of its pair, needs.

    A window starts `stride` tokens after the one before it, or sooner where an entity would lie in
    neither. A window with more than `max_entity_length` entities is repeated, each time with a
    share of them. A task with markers gets one window, its entities in the middle. `dropped` are
    the entities that are longer than a window.
    """
    stride = whole_number("stride", stride, 1)
    rows = []
    for number, parts in enumerate(self._parts(examples, offsets)):
      windows = self._windows(parts, stride, f"example {number}")
      dropped = _numbers(parts) - set().union(*map(_numbers, windows))
      rows += [self._row(examples[number], number, window, dropped) for window in windows]
    return rows

  def pad(
    self, rows: Sequence[Row], *, word_lengths: Lengths = None, entity_lengths: Lengths = None
  ) -> dict[str, np.ndarray]:
    """Rows as one batch of int32 arrays under Hugging Face's names.

    It is as wide as its longest row, or, where lengths are given, as wide as the smallest of them
    that holds the longest row: `512`, `(128, 256, 512)`, `range(64, 513, 64)`.
    """
    words = padded_length([len(row.input_ids) for row in rows], word_lengths, "tokens")
    entities, names = 0, WORD_INPUTS + ("token_type_ids",) * self.token_types
    if any(row.entities is not None or len(row.entity_ids) for row in rows):
      entities = padded_length([len(row.entity_ids) for row in rows], entity_lengths, "entities")
      names += ENTITY_INPUTS
      if self.task == "entity_span_classification":
        names += BOUNDARY_INPUTS
    sizes = Sizes(words, entities, self.max_mention_length)
    pads, rooms = (self.tokenizer.special.pad, self.entity_vocab.pad_id), {}
    for row in rows if self.tokenizer.whole_words else ():
      rooms |= {name: Room((words, *x.shape[1:])) for name, x in (row.extra or {}).items()}
    return padded(rows, sizes, *pads, names=names, extra=rooms)

  def _around(self, parts: Sequence[Part]) -> int:
    return self.tokenizer.special.around(len(parts))

  @property
  def _marker_ids(self) -> tuple[int, ...]:
    if self.marker_words:
      return tuple(self.tokenizer.piece_id(word) for word in self.marker_words)
    return self.tokenizer.special.marker_ids

  @property
  def _entity_room(self) -> int:
    return len(MARKED.get(self.task, ())) or self.max_entity_length

  def _entity_id(self, title: str) -> int:
    return self.entity_vocab.id(*self.entity_key(title))

  def entity_key(self, title: str) -> tuple[str, str | None]:
    """Returns a title and its language: the processor's, or the one before it, as in `de:Tokio`."""
    vocab, language = self.entity_vocab, self.language
    if vocab.multilingual and title not in SPECIAL:
      prefix, _, rest = title.partition(":")
      # With a language set, a title may still say its own, unless it is one that has a colon.
      if prefix in vocab.languages and not (language and vocab.contains(title, language)):
        language, title = prefix, rest
      elif language is None:
        languages = ", ".join(sorted(vocab.languages))
        raise InputError(
          f"entity {title!r}: in no language; expected one of {languages} before a colon, or as the"
          " processor's language"
        )
    return title, language

  def _parts(self, examples: Sequence[TextInput], offsets: bool) -> list[list[Part]]:
    if isinstance(examples, str) or not isinstance(examples, Sequence):
      raise InputError(f"examples: a {type(examples).__name__}; expected a list of TextInput")
    for number, example in enumerate(examples):
      if not isinstance(example, TextInput):
        raise InputError(f"example {number}: a {type(example).__name__}; expected a TextInput")
    encoded = [
      mentions(example, f"example {number}", self.task, self._entity_id)
      for number, example in enumerate(examples)
    ]
    texts = list(itertools.chain.from_iterable(encoded))
    parts = iter(tokenized(self.tokenizer, texts, offsets, self.read_as))
    if self.task in MARKED:
      parts = (part.marked(self._marker_ids) for part in parts)
    return [list(itertools.islice(parts, len(texts))) for texts in encoded]

  def _truncated(self, parts: list[Part]) -> list[Part]:
    room = self.max_length - self._around(parts)
    lengths = longest_first([len(part.ids) for part in parts], room)
    cut = [part.cut(0, length) for part, length in zip(parts, lengths, strict=True)]
    counts = longest_first([len(part.entities) for part in cut], self._entity_room)
    return [
      replace(part, entities=part.entities[:count]) for part, count in zip(cut, counts, strict=True)
    ]

  def _windows(self, parts: list[Part], stride: int, where: str) -> list[list[Part]]:
    *others, long = parts
    room = self.max_length - self._around(parts) - sum(len(part.ids) for part in others)
    entity_room = self._entity_room - sum(len(part.entities) for part in others)
    if room < 1 or entity_room < 1:
      raise InputError(
        f"{where}: the first text leaves room for {room} tokens and {entity_room} entities of the"
        " second; expected room for one or more"
      )
    if self.task in MARKED:
      return [[centred(long, room, where)]]
    return [
      [*others, replace(window, entities=group)]
      for window in sliding(long, room, stride)
      for group in even_groups(window.entities, entity_room)
    ]

  def _check_fit(self, parts: list[Part], where: str) -> None:
    tokens = sum(len(part.ids) for part in parts) + self._around(parts)
    if tokens > self.max_length:
      raise InputError(
        f"{where}: {tokens} tokens; expected at most max_length {self.max_length}, or to be read"
        " in windows or with truncation"
      )
    entities = len(_numbers(parts))
    if entities > self._entity_room:
      raise InputError(
        f"{where}: {entities} entities; expected at most max_entity_length {self._entity_room},"
        " or to be read in windows or with truncation"
      )
    if entities < len(MARKED.get(self.task, ())):
      raise InputError(
        f"{where}: an entity lies after the {self.max_length} tokens that truncation keeps;"
        " expected it before, or to be read in windows"
      )

  def _row(self, example: TextInput, number: int, parts: list[Part], dropped: set[int]) -> Row:
    row = enclosed(parts, self.tokenizer.special, number)
    entities = row.entities if example.has_entity_spans else None
    return replace(row, origin=Origin(entities, sorted(dropped), row.offsets))

  def _with_beside(self, row: Row, text: str) -> Row:
    """Returns the row of a single text with what its whole words have beside their ids."""
    if len(row.text_starts) > 1:
      return row
    return replace(row, extra=self.tokenizer.beside([text[slice(*x)] for x in row.offsets[1:-1]]))


def _numbers(parts: Sequence[Part]) -> set[int]:
  return {entity.number for part in parts for entity in part.entities}


def _up_to(widths: Sequence[int], most: int) -> list[int]:
  """Returns the widths, and beyond them twice as much each, up to the largest that may come."""
  reached = list(widths)
  while reached[-1] < most:
    reached.append(2 * reached[-1])
  return [*(width for width in reached if width < most), most]


def has_entity_vocab(directory: Path) -> bool:
  """Returns whether the files of a model include an entity vocabulary."""
  names = (name for name in FILES if name != tokenizer_files.CONFIG)
  inlined = "entity_vocab" in tokenizer_files.tokenizer_config(directory)
  return inlined or any((directory / name).exists() for name in names)


def load_processor(directory: str | Path, **changes: Any) -> Processor:
  """Reads a processor from a model's directory; `changes` are fields to set otherwise.

  A model of words only has the special entities, so that spans can be marked.
  """
  directory = Path(directory)
  config = tokenizer_files.tokenizer_config(directory)
  settings = {name: config[key] for key, name in SETTINGS.items() if config.get(key) is not None}
  for name, value in list(settings.items()):
    # transformers writes a huge number if there is no limit.
    if isinstance(value, int | float) and value > 1e6:
      del settings[name]
    elif name != "task" and type(value) is not int:
      raise InputError(
        f"{directory / tokenizer_files.CONFIG}: {name} is {value!r}; expected a whole number"
      )
  words = _of_words_only(directory)
  if words is not None:
    settings["token_types"] = words.get("type_vocab_size", 1) > 1
  tokenizer = tokenizer_files.load_tokenizer(directory, markers=words is None)
  vocab = load_entity_vocab(directory) if words is None else SPECIAL_ENTITIES
  with at(directory):
    return Processor(tokenizer, vocab, **(settings | changes))


def _of_words_only(directory: Path) -> dict[str, Any] | None:
  """Returns the config of a model that reads no entities, as BERT; None for all else."""
  path = directory / tokenizer_files.MODEL_CONFIG
  if has_entity_vocab(directory) or not path.exists():
    return None
  config = read_json_object(path, "the config of a model")
  return None if "entity_vocab_size" in config else config


def save_processor(processor: Processor, directory: str | Path) -> None:
  """Writes a processor into a model's directory."""
  settings = {key: getattr(processor, name) for key, name in SETTINGS.items()}
  tokenizer_files.save_tokenizer(processor.tokenizer, directory, settings)
  save_entity_vocab(processor.entity_vocab, Path(directory) / "entity_vocab.json")
