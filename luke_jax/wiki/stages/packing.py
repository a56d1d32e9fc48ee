"""Stage `records`: sentences of a page, packed in order and never across pages."""

import dataclasses
import functools
import itertools
import re
import struct
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.files.copies import local
from luke_jax.pipeline.stored import Record
from luke_jax.text import Tokenizer, load_tokenizer
from luke_jax.text.byte_level import ByteLevelTokenizer
from luke_jax.text.sentence_piece import SentencePieceTokenizer
from luke_jax.wiki.read.markup import Paragraph
from luke_jax.wiki.stages.linked_sentences import Sentence, split_paragraph
from luke_jax.wiki.stages.page_stage import NOWHERE, Shards, Titles, shard_path
from luke_jax.wiki.stages.stored import write_records
from luke_jax.wiki.stages.vocabulary_stage import IDS, UNKNOWN_ID

WIDTH = 4  # bytes of an id
_ROOM = 64 * 2**20  # bytes of memory for known words, approximately
_LONGEST = 4096  # characters at once for the tokenizer, whose time may grow faster than the text
_EDGE = "\n"  # marks the start of a segment, in which the only white space is spaces


class SegmentEncoder:
  """A map from segments of text to their ids.

  A segment that starts with a space starts a word. Any other continues the word before it, and gets
  the ids that it has inside of a word, or in WordPiece those of a word by itself. Text that spells
  a special token stays text.
  """

  def __init__(self, tokenizer: Tokenizer):
    if isinstance(tokenizer, ByteLevelTokenizer):
      tokenizer = tokenizer.with_prefix(False)
      self._before, self._skipped = "", 0
      self._plain_ids = tokenizer.encode_words
    elif isinstance(tokenizer, SentencePieceTokenizer):
      self._before, self._skipped = _known_alone(tokenizer), 2
      self._plain_ids = self._ids
    else:
      self._before, self._skipped = "", 0
      self._plain_ids = self._ids
    self._tokenizer = tokenizer
    self._special = re.compile("|".join(map(re.escape, tokenizer.special.ids)))
    self._known: dict[str, bytes] = {}  # words after a space, or with an edge after no space
    self._size = 0

  def encode(self, segments: Sequence[str]) -> list[bytes]:
    """Returns the ids of each segment as little-endian int32.

    The only white space in a segment is a single space before a word.
    """
    if self._size > _ROOM:
      self._known.clear()
      self._size = 0
    try:
      return self._looked_up(segments)
    except KeyError:
      words = f" {_EDGE}".join(["", *segments]).split(" ")[1:]
      self._learn(set(words).difference(self._known))
      return self._looked_up(segments)

  def _looked_up(self, segments: Sequence[str]) -> list[bytes]:
    cache = self._known
    return [b"".join([cache[word] for word in f"{_EDGE}{x}".split(" ")]) for x in segments]

  def _learn(self, words: set[str]) -> None:
    new = sorted(words)  # the tokenizer's own cache must not depend on Python's hashes
    plain = [word for word in new if self._is_plain(word)]
    rest = sorted(words.difference(plain))
    rows = itertools.chain(self._plain_ids(plain), self._ids(rest))
    for word, ids in zip(plain + rest, rows, strict=True):
      data = struct.pack(f"<{len(ids)}i", *ids)
      self._known[word] = data
      self._size += 200 + len(word) + len(data)

  def _is_plain(self, word: str) -> bool:
    """Returns whether a word follows a space, spells no special token and is not very long."""
    short = len(word) <= _LONGEST and word[:1] not in ("", _EDGE)
    return short and not self._special.search(word)

  def _ids(self, words: Sequence[str]) -> Iterator[list[int]]:
    """Yields the ids of words, all of which go to the tokenizer at once."""
    parts = [self._plain(word.removeprefix(_EDGE)) for word in words]
    texts, skips = [], []
    for word, row in zip(words, parts, strict=True):
      for place, part in enumerate(row):
        starts_word = place == 0 and word[:1] != _EDGE
        texts.append(f" {part}" if starts_word else self._before + part)
        skips.append(0 if starts_word else self._skipped)
    encoded = self._tokenizer.encode(texts) if texts else []
    rows = (tokens.ids[skip:] for tokens, skip in zip(encoded, skips, strict=True))
    for row in parts:
      yield [id for _ in row for id in next(rows)]

  def _plain(self, word: str) -> list[str]:
    """Returns the word in parts that spell no special token and are not very long.

    An empty word has no parts.
    """
    cuts = {match.start() + 1 for match in self._special.finditer(word)}
    cuts |= {0, len(word), *range(0, len(word), _LONGEST)}
    return [word[i:j] for i, j in itertools.pairwise(sorted(cuts))]


def _known_alone(tokenizer: Tokenizer) -> str:
  """Returns a character that is one word piece and in no other.

  SentencePiece starts a word with every text that it gets. With this character before a text, the
  text is inside of a word, and its ids follow the two of the start of a word and the character.
  """
  special = tokenizer.special
  ids = (id for id in range(special.mask) if id not in special.names)
  pieces = [tokenizer.decode([id]) for id in ids]
  uses = Counter(character for piece in pieces for character in set(piece))
  for piece in pieces:
    alone = len(piece) == 1 and uses[piece] == 1 and _composes_with_nothing(piece)
    if alone and len(tokenizer.encode([piece])[0].ids) == 2:
      return piece
  raise InputError("the SentencePiece model: no character that is in one piece only; expected one")


def _composes_with_nothing(character: str) -> bool:
  """Returns whether no accent or sound mark combines with the character."""
  category = unicodedata.category(character)
  return category[0] in "PN" or unicodedata.name(character, "").startswith("CJK UNIFIED")


SPECIAL_WORDS = 2  # <s> and </s>
_OPTIONS = "group_size:1,snappy"  # the records are read only once, for shuffling
_CACHED_TARGETS = 2**18


@dataclasses.dataclass(frozen=True)
class RecordLimits:
  """Limits on the size of a record, and options for the text and links in it."""

  max_words: int = 512
  """Largest number of word pieces in a record, the two special ones included."""
  max_entities: int = 128
  """Largest number of entities in a record; those after are left out."""
  max_mention: int = 30
  """Largest number of word pieces in an entity's name; those after are left out."""
  min_sentence: int = 5
  """Smallest number of word pieces in a sentence."""
  unknown_entities: Literal["keep", "skip"] = "keep"
  """Keeps links to pages outside of the vocabulary as `[UNK]`, or skips them."""
  records_without_entities: bool = False
  """Keeps records without an entity."""
  abstract_only: bool = False
  """Reads only the text before a page's first heading."""
  vocabulary_pages_only: bool = False
  """Reads only pages that are entities themselves."""

  @property
  def room(self) -> int:
    """The number of words in a record besides the special ones."""
    return self.max_words - SPECIAL_WORDS


Mention = tuple[int, int, int]  # entity, first word, one after the last


class Encoded(NamedTuple):
  """A sentence as ids (little-endian int32 bytes) with its mentions."""

  ids: bytes
  words: int
  mentions: list[Mention]


@dataclasses.dataclass
class Packer:
  """A maker of records from pages; `counts` has what is in them and what was dropped, and why."""

  encoder: SegmentEncoder
  entity_ids: Callable[[str], int | None]  # of a link's target; None outside of the vocabulary
  unknown_id: int
  language: str
  limits: RecordLimits
  counts: Counter = dataclasses.field(default_factory=Counter)

  def records(self, title: str, paragraphs: Sequence[Paragraph]) -> Iterator[Record]:
    """Yields the records of a page."""
    page = self.entity_ids(title)
    if page is None and self.limits.vocabulary_pages_only:
      self.counts["dropped: pages not in the vocabulary"] += 1
      return
    allowed = [x for x in paragraphs if x.abstract or not self.limits.abstract_only]
    self.counts["dropped: paragraphs after the abstract"] += len(paragraphs) - len(allowed)
    for group in self._packed(self._fitting(self._encoded(self._sentences(allowed)))):
      record = self._record(-1 if page is None else page, group)
      if record is not None:
        yield record

  def _sentences(self, paragraphs: Sequence[Paragraph]) -> list[Sentence]:
    sentences = []
    for paragraph in paragraphs:
      split = split_paragraph(paragraph, self.language)
      sentences += split.sentences
      self.counts["dropped: links across sentences"] += split.links_across
      self.counts["dropped: links without text"] += split.links_empty
    return sentences

  def _encoded(self, sentences: Sequence[Sentence]) -> Iterator[Encoded]:
    """Yields the sentences as ids; all segments of a page go to the tokenizer at once."""
    rows = iter(self.encoder.encode([segment for x in sentences for segment in x.segments]))
    for segments, targets, _ in sentences:
      of_segments = list(itertools.islice(rows, len(segments)))
      mentions: list[Mention] = []
      if targets:
        ends = list(itertools.accumulate([len(ids) // WIDTH for ids in of_segments]))
        for target, start, end in zip(targets, ends[::2], ends[1::2], strict=False):
          self._mention(mentions, target, start, end)
      ids = b"".join(of_segments)
      yield Encoded(ids, len(ids) // WIDTH, mentions)

  def _mention(self, mentions: list[Mention], target: str, start: int, end: int) -> None:
    entity = self.entity_ids(target)
    if start == end:
      self.counts["dropped: links without text"] += 1
    elif entity is not None:
      mentions.append((entity, start, end))
    elif self.limits.unknown_entities == "keep":
      mentions.append((self.unknown_id, start, end))
    else:
      self.counts["dropped: links to unknown entities"] += 1

  def _fitting(self, sentences: Iterator[Encoded]) -> Iterator[Encoded]:
    """Yields the sentences that are neither too short nor too long."""
    for sentence in sentences:
      if self.limits.min_sentence <= sentence.words <= self.limits.room:
        yield sentence
        continue
      length = "short" if sentence.words < self.limits.min_sentence else "long"
      self.counts[f"dropped: sentences too {length}"] += 1
      self.counts[f"dropped: words of sentences too {length}"] += sentence.words
      self.counts[f"dropped: links in sentences too {length}"] += len(sentence.mentions)

  def _packed(self, sentences: Iterator[Encoded]) -> Iterator[list[Encoded]]:
    group: list[Encoded] = []
    words = 0
    for sentence in sentences:
      if words + sentence.words > self.limits.room:
        yield group
        group, words = [], 0
      group.append(sentence)
      words += sentence.words
    if group:
      yield group

  def _record(self, page_id: int, sentences: Sequence[Encoded]) -> Record | None:
    mentions, place = [], 0
    for sentence in sentences:
      mentions += [(entity, place + i, place + j) for entity, i, j in sentence.mentions]
      place += sentence.words
    if not mentions and not self.limits.records_without_entities:
      self.counts["dropped: records without entities"] += 1
      self.counts["dropped: words of records without entities"] += place
      return None
    rows = np.array(mentions[: self.limits.max_entities], np.int32).reshape(-1, 3)
    ids, starts, ends = rows.T
    cut = np.minimum(ends, starts + self.limits.max_mention)
    self.counts.update(
      {
        "records": 1,
        "sentences": len(sentences),
        "words": place,
        "entities": len(rows),
        "unknown_entities": int((ids == self.unknown_id).sum()),
        "mentions_cut": int((cut < ends).sum()),
        "dropped: entities beyond the most a record holds": len(mentions) - len(rows),
      }
    )
    words = np.frombuffer(b"".join([sentence.ids for sentence in sentences]), "<i4")
    return Record(page_id, words, ids, starts, cut)


@dataclasses.dataclass(frozen=True)
class MakeRecords:
  """The function of a shard: makes the records of its pages.

  `key` changes with the content of the folders.
  """

  folder: Path
  shards: Shards
  titles: Path
  vocabulary: Path
  tokenizer: Path
  key: str
  language: str
  limits: RecordLimits

  def __call__(self, shard: int) -> Mapping[str, int]:
    """Writes the records, and returns the counts of what is in them and what was dropped."""
    packers = _packers(self.tokenizer, self.titles, self.vocabulary, self.key)
    packer = packers(self.language, self.limits)
    path = shard_path(self.folder, "records", shard, len(self.shards))
    written = write_records(path, self._records(packer, shard), _OPTIONS)
    return {"records": written, **packer.counts}

  def _records(self, packer: Packer, shard: int) -> Iterator[bytes]:
    for page in self.shards.read_pages(shard):
      for record in packer.records(page.title, page.paragraphs):
        yield record.to_bytes()


@functools.lru_cache(maxsize=1)
def _packers(tokenizer: Path, titles: Path, vocabulary: Path, key: str) -> Callable[..., Packer]:
  """Returns the maker of a stage's packers, which keep the words that a process has cached."""
  ids = np.load(local(vocabulary / IDS), mmap_mode="r")
  return functools.partial(
    Packer,
    SegmentEncoder(load_tokenizer(tokenizer)),
    _EntityIds(Titles(titles), ids).__getitem__,
    int(np.load(local(vocabulary / UNKNOWN_ID))),
  )


class _EntityIds(dict[str, int | None]):
  def __init__(self, titles: Titles, ids: np.ndarray):
    self._titles, self._ids = titles, ids

  def __missing__(self, target: str) -> int | None:
    if len(self) > _CACHED_TARGETS:
      self.clear()
    page = self._titles.page(target)
    id = int(self._ids[page]) if page != NOWHERE else NOWHERE
    self[target] = None if id == NOWHERE else id
    return self[target]
