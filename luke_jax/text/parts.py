"""Texts with their entities as tokens: the part of a row that one text fills.

A text that is longer than the model reads at once is read in windows.
"""

import itertools
import operator
from collections.abc import Callable, Iterable, Sequence, Sized
from dataclasses import dataclass
from typing import NamedTuple

from luke_jax.errors import InputError
from luke_jax.text.tokenizer import Bounds, Tokenizer, Tokens, shifted

NOT_TEXT = (-1, -1)


class JoinedWords(NamedTuple):
  """Words joined to a text, with the character spans of words (`offsets`) and entities."""

  text: str
  offsets: list[Bounds]
  spans: list[Bounds]


def join_words(
  words: Sequence[str], spans: Iterable[Bounds] = (), spaces: Sequence[bool] | None = None
) -> JoinedWords:
  """Joins words to a text and turns half-open spans of words into spans of its characters.

  `spaces` says for each word whether a space precedes it; by default all but the first have one.
  """
  _check_words(words)
  if spaces is None:
    spaces = [number > 0 for number in range(len(words))]
  if not isinstance(spaces, Sized) or len(spaces) != len(words):
    count = len(spaces) if isinstance(spaces, Sized) else repr(spaces)
    raise InputError(f"spaces: {count} given; expected {len(words)}, one for each word")
  before = [" " if space else "" for space in spaces]
  ends = list(itertools.accumulate(len(s) + len(w) for s, w in zip(before, words, strict=True)))
  offsets = [(end - len(word), end) for end, word in zip(ends, words, strict=True)]
  checked = checked_spans(spans, len(words), "words")
  return JoinedWords(
    "".join(itertools.chain.from_iterable(zip(before, words, strict=True))),
    offsets,
    [(offsets[first][0], offsets[last - 1][1]) for first, last in checked],
  )


def _check_words(words: Sequence[str]) -> None:
  if isinstance(words, str) or not isinstance(words, Sized):
    raise InputError(f"words: a {type(words).__name__}; expected a list of strings")
  for number, word in enumerate(words):
    if not isinstance(word, str) or not word:
      raise InputError(f"word {number}: {word!r}; expected a string that is not empty")


def checked_spans(spans: Iterable[Bounds], length: int, where: str) -> list[Bounds]:
  """Returns the spans as pairs of ints; raises InputError for one that is empty or out of range."""
  try:
    listed = list(spans)
  except TypeError:
    raise InputError(f"{where}: spans are {spans!r}; expected a list of (start, end)") from None
  return [_checked(span, length, f"{where}: span {i}") for i, span in enumerate(listed)]


def _checked(span: Bounds, length: int, where: str) -> Bounds:
  try:
    start, end = map(operator.index, span)
  except (TypeError, ValueError):
    raise InputError(f"{where} is {span!r}; expected two whole numbers (start, end)") from None
  if not 0 <= start < end <= length:
    raise InputError(f"{where} is ({start}, {end}); expected 0 <= start < end <= {length}")
  return start, end


def cuts(text: str, spans: Iterable[Bounds]) -> dict[int, int]:
  """Returns the cut of the text for each edge of a span; a space before it joins the next piece."""
  return {
    boundary: boundary - 1 if boundary and text[boundary - 1] == " " else boundary
    for boundary in itertools.chain.from_iterable(spans)
  }


class RowEntity(NamedTuple):
  """An entity in a row: its id, and its tokens and characters, both half-open.

  `text` is 0, or 1 for the second of a pair; `number` counts the entities given with an example,
  those of the first text and then those of the second.
  """

  id: int
  tokens: Bounds
  characters: Bounds
  text: int
  number: int


class TextWithEntities(NamedTuple):
  """A text and its entities, whose tokens are not known yet; `where` names it in messages."""

  text: str
  entities: list[RowEntity]
  where: str


@dataclass(frozen=True)
class Part:
  """Tokens of one text and the entities on them, before special tokens enclose them.

  `offsets` is empty unless they were requested.
  """

  ids: list[int]
  offsets: list[Bounds]
  entities: list[RowEntity]

  def cut(self, start: int, stop: int) -> "Part":
    """Returns the tokens from start to stop, with the entities that lie whole among them."""
    entities = [
      moved(entity, -start)
      for entity in self.entities
      if start <= entity.tokens[0] and entity.tokens[1] <= stop
    ]
    return Part(self.ids[start:stop], self.offsets[start:stop], entities)

  def marked(self, markers: Sequence[int]) -> "Part":
    """Returns the part with a marker before and after each entity, which then covers both.

    Of entities that begin at one place the longest opens first, and closes last.
    """
    edges = sorted(
      edge
      for i, (start, end) in enumerate(entity.tokens for entity in self.entities)
      for edge in ((start, 1, -end, i), (end, 0, -start, -i))
    )
    ids: list[int] = []
    offsets: list[Bounds] = []
    tokens = [[0, 0] for _ in self.entities]
    done = 0
    for place, opens, _, number in edges:
      ids += [*self.ids[done:place], markers[abs(number)]]
      offsets += [*self.offsets[done:place], NOT_TEXT]
      tokens[abs(number)][1 - opens] = len(ids) - opens
      done = place
    ids += self.ids[done:]
    offsets += self.offsets[done:]
    entities = [
      entity._replace(tokens=(start, end))
      for entity, (start, end) in zip(self.entities, tokens, strict=True)
    ]
    return Part(ids, offsets if self.offsets else [], entities)


def moved(entity: RowEntity, by: int) -> RowEntity:
  """Returns the entity with its tokens moved by so many places."""
  return entity._replace(tokens=(entity.tokens[0] + by, entity.tokens[1] + by))


def after_space(text: str, start: int, end: int) -> str:
  """Returns a piece of a text with white space before it and none after it."""
  piece = text[start:end].rstrip()
  return piece if not piece or piece[0].isspace() else f" {piece}"


def added(piece: str, text: str, start: int, end: int) -> bool:
  """Returns whether a piece was given a space that the text does not have."""
  return piece[:1] != text[start:end][:1]


def as_written(text: str, start: int, end: int) -> str:
  """Returns a piece of a text."""
  return text[start:end]


def begins_after_space(text: str, start: int, end: int) -> str:
  """Returns a piece of a text, with white space before it if the text begins with it."""
  piece = text[start:end]
  return piece if start or piece[:1].isspace() else f" {piece}"


# A piece of a text, from start to end, as it is tokenized: some may get a space before them.
ReadAs = Callable[[str, int, int], str]


def tokenized(
  tokenizer: Tokenizer,
  texts: Sequence[TextWithEntities],
  offsets: bool,
  read_as: ReadAs = as_written,
) -> list[Part]:
  """Returns the texts as tokens, cut at the edges of entities so that no token crosses one.

  All pieces of all texts are tokenized at once.
  """
  cut = [cuts(text, [entity.characters for entity in entities]) for text, entities, _ in texts]
  edges = [
    sorted({0, *positions.values(), len(mentions.text)})
    for positions, mentions in zip(cut, texts, strict=True)
  ]
  pieces = [
    (mentions.text, start, end)
    for mentions, row in zip(texts, edges, strict=True)
    for start, end in itertools.pairwise(row)
  ]
  read = [read_as(*piece) for piece in pieces]
  tokens = (
    shifted(encoding, -1 if added(piece, *of) else 0)
    for encoding, piece, of in zip(
      tokenizer.encode(read, offsets=offsets), read, pieces, strict=True
    )
  )
  return [
    _part(mentions, positions, dict(zip(row, itertools.islice(tokens, len(row) - 1), strict=False)))
    for mentions, positions, row in zip(texts, cut, edges, strict=True)
  ]


def _part(mentions: TextWithEntities, cut: dict[int, int], pieces: dict[int, Tokens]) -> Part:
  ids: list[int] = []
  offsets: list[Bounds] = []
  first_token = {}
  for start, piece in pieces.items():
    first_token[start] = len(ids)
    ids += piece.ids
    offsets += [(begin + start, end + start) for begin, end in piece.offsets or ()]
  first_token[len(mentions.text)] = len(ids)
  entities = []
  for entity in mentions.entities:
    start, end = (first_token[cut[boundary]] for boundary in entity.characters)
    if start == end:
      raise InputError(
        f"{mentions.where}: span {entity.characters} holds no token, only white space or nothing"
        " the vocabulary knows; expected at least one"
      )
    entities.append(entity._replace(tokens=(start, end)))
  return Part(ids, offsets, entities)


def sliding(part: Part, room: int, stride: int) -> list[Part]:
  """Returns windows of `room` tokens, each at most `stride` tokens after the one before.

  A window starts earlier if otherwise an entity would lie in no window, so that every entity of at
  most `room` tokens lies whole in at least one.
  """
  starts = [0]
  while starts[-1] + room < len(part.ids):
    last = starts[-1]
    missed = [
      start
      for start, end in (entity.tokens for entity in part.entities)
      if start > last and end > last + room and end - start <= room
    ]
    starts.append(min([last + min(stride, room), *missed]))
  return [part.cut(start, start + room) for start in starts]


def centred(part: Part, room: int, where: str) -> Part:
  """Returns the window of `room` tokens that has all entities of the part in its middle."""
  first = min(entity.tokens[0] for entity in part.entities)
  last = max(entity.tokens[1] for entity in part.entities)
  if last - first > room:
    raise InputError(
      f"{where}: its entities span {last - first} tokens; expected at most {room}, one window"
    )
  start = min((first + last - room) // 2, len(part.ids) - room)
  return part.cut(max(start, 0), max(start, 0) + room)


def longest_first(lengths: Sequence[int], room: int) -> list[int]:
  """Returns the lengths cut down to `room` in all: the longer first, then both in turn."""
  if sum(lengths) <= room:
    return list(lengths)
  if len(lengths) == 1:
    return [room]
  first, second = lengths
  second = min(second, max(room - first, room // 2))
  return [room - second, second]


def even_groups(entities: Sequence[RowEntity], room: int) -> list[list[RowEntity]]:
  """Returns the entities in as few groups of at most `room` as possible, of nearly equal size."""
  groups = max(1, -(-len(entities) // room))
  size = -(-len(entities) // groups) or 1
  return [list(entities[i : i + size]) for i in range(0, max(1, len(entities)), size)]
