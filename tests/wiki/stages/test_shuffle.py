"""The shuffle in two passes: the same bytes whatever its parts and rounds are, with few files."""

import dataclasses
import random

import pytest
from wiki_builds import contents, made, origins

from luke_jax.pipeline.stored import StoredRecords
from luke_jax.wiki.stages import shuffle_stage, stored
from luke_jax.wiki.stages.engines import local
from luke_jax.wiki.stages.page_stage import shard_path
from luke_jax.wiki.stages.shuffle_stage import Scatter, read_scattered
from luke_jax.wiki.stages.stage import Stage, finish

SIZES, PER_FILE, SEED = (7, 0, 50, 31, 1, 90, 0, 21), 17, 3
FILES = -(-sum(SIZES) // PER_FILE)


@pytest.fixture
def source(tmp_path):
  """Records in files of the sizes, all of them different, some of them long."""
  rng, folder = random.Random(0), tmp_path / "records"
  folder.mkdir()
  records = [rng.randbytes(rng.choice((1, 30, 3_000))) + bytes([i]) for i in range(sum(SIZES))]
  left = iter(records)
  for number, size in enumerate(SIZES):
    path = shard_path(folder, "records", number, len(SIZES))
    stored.write_records(path, [next(left) for _ in range(size)], "group_size:1,snappy")
  return folder, records


def scattered(folder, source):
  work = Scatter(folder, source, SIZES, PER_FILE, SEED)
  with local(1) as engine:
    finish(Stage(folder, work.shards, work, {}), engine)
  return folder


@pytest.mark.parametrize("held", [1, 5_000, 1 << 25])
@pytest.mark.parametrize("most", [1, 3, 32])
def test_every_record_is_in_its_place(most, held, source, tmp_path, monkeypatch):
  monkeypatch.setattr(shuffle_stage, "_MOST_SHARDS", most)
  monkeypatch.setattr(shuffle_stage, "_HELD", held)
  place, records = source
  folder = scattered(tmp_path / "scattered", place)
  assert len(list(folder.glob("*.array_record"))) == min(most, len(SIZES))
  order = origins(len(records), SEED).tolist()
  for file in range(FILES):
    rows = list(read_scattered(folder, file, FILES))
    expected = [records[origin] for origin in order[file * PER_FILE : (file + 1) * PER_FILE]]
    assert [record for _, record in sorted(rows)] == expected
    assert sorted(number for number, _ in rows) == list(range(len(expected)))


def test_few_files_are_opened_and_one_at_a_time(source, tmp_path, monkeypatch):
  monkeypatch.setattr(shuffle_stage, "_MOST_SHARDS", 3)
  opened, most, now = [], 0, 0
  original = stored.open_records

  class Counted:
    def __init__(self, reader):
      nonlocal most, now
      self.reader, now = reader, now + 1
      most = max(most, now)

    def __getattr__(self, name):
      return getattr(self.reader, name)

    def close(self):
      nonlocal now
      now -= 1
      self.reader.close()

  def counting(path, expected=None):
    opened.append(path)
    return Counted(original(path, expected))

  monkeypatch.setattr(stored, "open_records", counting)
  monkeypatch.setattr(shuffle_stage, "open_records", counting)
  folder = scattered(tmp_path / "scattered", source[0])
  assert len(opened) == len(SIZES)
  for file in range(FILES):
    assert list(read_scattered(folder, file, FILES))
  assert len(opened) == len(SIZES) + 3 * FILES < FILES * len(SIZES)
  assert most == 1


def test_a_build_leaves_the_records_in_the_order_of_the_permutation(built, settings):
  result = made(dataclasses.replace(settings, seed=5), built.folder)
  paths = sorted((built.folder / "records").glob("*.array_record"))
  counts = [shard["records"] for shard in result.stages["records"].shards]
  before = [
    record
    for path, size in zip(paths, counts, strict=True)
    for record in stored.read_records(path, size)
  ]
  after = [record.to_bytes() for record in StoredRecords(str(built.folder / "pretraining"))]
  order = origins(len(before), 5)
  assert after == [before[origin] for origin in order.tolist()]


def test_the_blocks_of_a_finished_build_are_deleted(built, settings):
  made(settings, built.folder)
  before = contents(built.folder)
  assert not (built.folder / "scattered").exists()
  (built.folder / "scattered").mkdir()
  (built.folder / "scattered/begun.json").write_text('"of a build that was killed"')
  made(settings, built.folder)
  assert contents(built.folder) == before and not (built.folder / "scattered").exists()
