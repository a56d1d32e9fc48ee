"""Stage `pretraining`: the records in random order, with everything that reading them needs."""

import dataclasses
from collections.abc import Mapping

from luke_jax.files import Path, filled
from luke_jax.pipeline.metadata import Metadata, StoredFile, tokenizer_hash, write_metadata
from luke_jax.text import Processor, load_entity_vocab, load_tokenizer, save_processor
from luke_jax.wiki.stages.files import write_records
from luke_jax.wiki.stages.packing import Limits
from luke_jax.wiki.stages.page_stage import shard_path
from luke_jax.wiki.stages.scatter_stage import read_scattered

_OPTIONS = "group_size:1"  # for random access
RECORDS_PER_FILE = 2**14  # about 40 MB, which a worker has in memory


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
  limits: Limits
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
