"""Stage `records`: pages as pretraining records, in the order of the dump."""

import dataclasses
import functools
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import numpy as np

from luke_jax.files import Path
from luke_jax.files.copies import local
from luke_jax.text import load_tokenizer
from luke_jax.wiki.stages.files import write_records
from luke_jax.wiki.stages.packing import Limits, Packer
from luke_jax.wiki.stages.page_stage import Shards, shard_path
from luke_jax.wiki.stages.segment_encoder import SegmentEncoder
from luke_jax.wiki.stages.title_stage import NOWHERE, Titles
from luke_jax.wiki.stages.vocabulary_stage import IDS, UNKNOWN_ID

_OPTIONS = "group_size:1,snappy"  # the records are read only once, for shuffling
_CACHED_TARGETS = 2**18


class Tools(NamedTuple):
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
  limits: Limits

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
def _tools(tokenizer: Path, titles: Path, vocabulary: Path, key: str) -> Tools:
  """Returns the tools of a stage; a process that makes several shards keeps its cached words."""
  ids = np.load(local(vocabulary / IDS), mmap_mode="r")
  return Tools(
    SegmentEncoder(load_tokenizer(tokenizer)),
    entity_lookup(Titles(titles), ids),
    int(np.load(local(vocabulary / UNKNOWN_ID))),
  )


def entity_lookup(titles: Titles, ids: np.ndarray) -> Callable[[str], int | None]:
  """Returns a function from a link's target to the entity id of its page, None without one."""
  return _EntityIds(titles, ids).__getitem__


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
