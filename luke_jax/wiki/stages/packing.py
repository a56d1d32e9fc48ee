"""Stage `records`: sentences of a page, packed in order and never across pages."""

import dataclasses
import functools
import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from luke_jax.files import Path
from luke_jax.files.copies import local
from luke_jax.pipeline.stored import Record
from luke_jax.text import load_tokenizer
from luke_jax.wiki.read.markup import Paragraph
from luke_jax.wiki.stages.files import write_records
from luke_jax.wiki.stages.linked_sentences import Sentence, split_paragraph
from luke_jax.wiki.stages.page_stage import Shards, shard_path
from luke_jax.wiki.stages.segment_encoder import WIDTH, SegmentEncoder
from luke_jax.wiki.stages.title_stage import NOWHERE, Titles
from luke_jax.wiki.stages.vocabulary_stage import IDS, UNKNOWN_ID

SPECIAL_WORDS = 2  # <s> and </s>
_OPTIONS = "group_size:1,snappy"  # the records are read only once, for shuffling
_CACHED_TARGETS = 2**18


@dataclasses.dataclass(frozen=True)
class RecordLimits:
  """Limits on the size of a record, and options for the text and links in it."""

  max_words: int = 512  # special tokens included
  max_entities: int = 128
  max_mention: int = 30
  min_sentence: int = 5
  unknown_entities: bool = True
  """Makes links to pages outside of the vocabulary `[UNK]` entities, and not plain text."""
  records_without_entities: bool = False
  abstract_only: bool = False
  vocabulary_pages_only: bool = False

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
    elif self.limits.unknown_entities:
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


class _Tools(NamedTuple):
  """The tools that turn text and links into ids."""

  encoder: SegmentEncoder
  entity_ids: Callable[[str], int | None]
  unknown_id: int


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
    tools = _tools(self.tokenizer, self.titles, self.vocabulary, self.key)
    packer = Packer(*tools, self.language, self.limits)
    path = shard_path(self.folder, "records", shard, len(self.shards))
    written = write_records(path, self._records(packer, shard), _OPTIONS)
    return {"records": written, **packer.counts}

  def _records(self, packer: Packer, shard: int) -> Iterator[bytes]:
    for page in self.shards.read_pages(shard):
      for record in packer.records(page.title, page.paragraphs):
        yield record.to_bytes()


@functools.lru_cache(maxsize=1)
def _tools(tokenizer: Path, titles: Path, vocabulary: Path, key: str) -> _Tools:
  """Returns the tools of a stage; a process that makes several shards keeps its cached words."""
  ids = np.load(local(vocabulary / IDS), mmap_mode="r")
  return _Tools(
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
