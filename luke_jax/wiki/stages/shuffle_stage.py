"""Stages `scattered` and `pretraining`: the records in random order, with what reading them needs.

The shuffle is two passes, so that it opens few files: `scattered` reads every file of the source
once, from its start to its end, and `pretraining` has all records for a file in a few blocks.
"""

import dataclasses
import itertools
from collections.abc import Iterator, Mapping

import numpy as np

from luke_jax.files import Path, filled
from luke_jax.pipeline.metadata import Metadata, StoredFile, tokenizer_hash, write_metadata
from luke_jax.text import Processor, load_entity_vocab, load_tokenizer, save_processor
from luke_jax.wiki.stages.packing import RecordLimits
from luke_jax.wiki.stages.page_stage import shard_path
from luke_jax.wiki.stages.stage import read_finished
from luke_jax.wiki.stages.stored import open_records, read_records, write_records

_OPTIONS = "group_size:1"  # for random access
RECORDS_PER_FILE = 2**14  # about 40 MB, which a worker has in memory
_ONCE = "group_size:1,uncompressed"  # for random access, once: packing costs more than it saves
_MOST_SHARDS = 32  # shards, each of which every file of the result opens
_HELD = 2**25  # bytes of records in memory


@dataclasses.dataclass(frozen=True)
class Scatter:
  """The function of a shard: writes the records of some files of the source in blocks.

  A block has records for one file of the result. The shard's file has rounds of blocks, each with a
  block for each file of the result in order.
  """

  folder: Path
  source: Path
  sizes: tuple[int, ...]  # records in each file of the source
  per_file: int
  seed: int

  @property
  def shards(self) -> int:
    """The number of shards."""
    return min(len(self.sizes), _MOST_SHARDS)

  def __call__(self, shard: int) -> Mapping[str, int]:
    """Writes the blocks."""
    blocks = write_records(_path(self.folder, shard, self.shards), self._blocks(shard), _ONCE)
    return {"blocks": blocks}

  def _blocks(self, shard: int) -> Iterator[bytes]:
    files = -(-sum(self.sizes) // self.per_file)
    held: list[list[tuple[int, bytes]]] = [[] for _ in range(files)]
    size = 0
    for place, record in self._placed(shard):
      held[place // self.per_file].append((place % self.per_file, record))
      size += len(record)
      if size > _HELD:
        yield from map(_block, held)
        held, size = [[] for _ in range(files)], 0
    if size:
      yield from map(_block, held)

  def _placed(self, shard: int) -> Iterator[tuple[int, bytes]]:
    """Yields the records of the shard's part of the source, each with its place in the result."""
    sources, total = len(self.sizes), sum(self.sizes)
    ends = list(itertools.accumulate(self.sizes))
    for source in range(shard * sources // self.shards, (shard + 1) * sources // self.shards):
      size = self.sizes[source]
      origins = np.arange(ends[source] - size, ends[source])
      places = places_of(origins, total, self.seed).tolist() if size else []
      path = shard_path(self.source, "records", source, sources)
      yield from zip(places, read_records(path, size), strict=True)


def read_scattered(folder: Path, file: int, files: int) -> Iterator[tuple[int, bytes]]:
  """Yields the records for one file of the result, each with its place in it, in any order."""
  shards = read_finished(folder).shards
  for shard, counts in enumerate(shards):
    if counts["blocks"]:
      reader = open_records(_path(folder, shard, len(shards)), counts["blocks"])
      for block in reader.read(list(range(file, counts["blocks"], files))):
        yield from _records(block)
      reader.close()


def _path(folder: Path, shard: int, shards: int) -> Path:
  return shard_path(folder, "blocks", shard, shards)


def _block(rows: list[tuple[int, bytes]]) -> bytes:
  places = [place for place, _ in rows]
  lengths = [len(record) for _, record in rows]
  head = np.array([len(rows), *places, *lengths], "<i4").tobytes()
  return b"".join([head, *(record for _, record in rows)])


def _records(block: bytes) -> Iterator[tuple[int, bytes]]:
  number = int(np.frombuffer(block, "<i4", 1)[0])
  places, lengths = np.frombuffer(block, "<i4", 2 * number, 4).reshape(2, number).tolist()
  start = 4 + 8 * number
  for place, length in zip(places, lengths, strict=True):
    yield place, block[start : start + length]
    start += length


_ROUNDS = 6
_GOLDEN = 0x9E3779B97F4A7C15
_MASK = 2**64 - 1


def places_of(values: np.ndarray, size: int, seed: int) -> np.ndarray:
  """Returns the positions at which a permutation of range(size) has the values.

  The permutation is a Feistel network over the next power of four, repeated for values outside of
  the range; it is run from its end. It depends on no library's random numbers.
  """
  half = max((max(size - 1, 1).bit_length() + 1) // 2, 1)
  keys = [_mixed(np.array([seed * 2**8 + i & _MASK], np.uint64))[0] for i in range(_ROUNDS)]
  result = _inverse(values.astype(np.uint64), half, keys)
  while (outside := result >= size).any():
    result[outside] = _inverse(result[outside], half, keys)
  return result.astype(np.int64)


def _inverse(numbers: np.ndarray, half: int, keys: list[np.uint64]) -> np.ndarray:
  mask, shift = np.uint64(2**half - 1), np.uint64(half)
  left, right = numbers >> shift, numbers & mask
  for key in reversed(keys):
    left, right = right ^ (_mixed(left ^ key) & mask), left
  return left << shift | right


def _mixed(numbers: np.ndarray) -> np.ndarray:
  """Applies the finaliser of splitmix64: each bit of a result depends on all of its number."""
  numbers = numbers + np.uint64(_GOLDEN)
  numbers = (numbers ^ numbers >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
  numbers = (numbers ^ numbers >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
  return numbers ^ numbers >> np.uint64(31)


@dataclasses.dataclass(frozen=True)
class Shuffle:
  """The function of a shard: writes one file of the records that are scattered.

  The shard after the last file has the tokenizer, the entity vocabulary and metadata.json.
  """

  folder: Path
  scattered: Path
  records: int
  per_file: int
  tokenizer: Path
  vocabulary: Path
  limits: RecordLimits
  language: str

  @property
  def files(self) -> int:
    """The number of files of the result."""
    return max(-(-self.records // self.per_file), 1)

  def size(self, file: int) -> int:
    """Returns the number of records of a file of the result."""
    return min(self.per_file, self.records - file * self.per_file)

  def __call__(self, shard: int) -> Mapping[str, int]:
    """Writes a file of records, or the files beside them."""
    if shard == self.files:
      self._write_companions()
      return {}
    path = shard_path(self.folder, "records", shard, self.files)
    return {"records": write_records(path, self._records(shard), _OPTIONS)}

  def _records(self, file: int) -> list[bytes]:
    records = [b""] * self.size(file)
    for place, record in read_scattered(self.scattered, file, self.files):
      records[place] = record
    return records

  def _write_companions(self) -> None:
    limits = self.limits
    processor = Processor(
      load_tokenizer(self.tokenizer),
      load_entity_vocab(self.vocabulary),
      max_length=limits.max_words,
      max_entity_length=limits.max_entities,
      max_mention_length=limits.max_mention,
    )
    with filled(self.folder) as folder:
      save_processor(processor, folder)
    paths = [shard_path(self.folder, "records", i, self.files) for i in range(self.files)]
    metadata = Metadata(
      records=self.records,
      files=tuple(StoredFile(path.name, self.size(i)) for i, path in enumerate(paths)),
      max_words=limits.max_words,
      max_entities=limits.max_entities,
      max_mention=limits.max_mention,
      min_sentence=limits.min_sentence,
      language=self.language,
      vocab_size=processor.tokenizer.vocab_size,
      entity_vocab_size=len(processor.entity_vocab),
      tokenizer=tokenizer_hash(processor.tokenizer),
    )
    write_metadata(metadata, self.folder)
