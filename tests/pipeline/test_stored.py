"""Folders of records: what they say of themselves, random access, and what is held out."""

import dataclasses
import json
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tiny import TEXTS
from toy_corpus import ENTITIES, toy_records, write_corpus

from luke_jax.errors import InputError
from luke_jax.pipeline import stored
from luke_jax.pipeline.batches import TrainingBatches
from luke_jax.pipeline.metadata import read_metadata, tokenizer_hash, write_metadata
from luke_jax.pipeline.rows import read_entities
from luke_jax.pipeline.stored import Corpora, HeldOutRecords, Record, StoredRecords, TrainingRecords
from luke_jax.text import load_tokenizer, save_tokenizer


def same(one: Record, other: Record) -> bool:
  return one.to_bytes() == other.to_bytes()


@pytest.fixture(scope="module")
def records():
  return toy_records(700)


@pytest.fixture(scope="module")
def folder(records, tmp_path_factory):
  return write_corpus(tmp_path_factory.mktemp("stored") / "corpus", records, files=3)


def test_any_record_at_any_time(folder, records):
  found = StoredRecords(folder)
  assert len(found) == 700
  for index in np.random.default_rng(0).permutation(700):
    assert same(found[int(index)], records[index])
  assert all(map(same, found, records))
  with pytest.raises(IndexError):
    found[700]


def test_what_is_sent_to_workers_is_small(folder, records):
  found = StoredRecords(folder)
  assert same(found[3], records[3])
  sent = pickle.dumps(TrainingRecords(Corpora((found,)), 0.1))
  assert len(sent) < 1000
  assert same(pickle.loads(sent).corpora[3], records[3])  # noqa: S301


def test_a_file_that_is_gone_cut_or_of_others_is_one_line(records, tmp_path):
  folder = write_corpus(tmp_path / "corpus", records, files=2)
  first, second = sorted((tmp_path / "corpus").glob("*.array_record"))
  data = first.read_bytes()
  first.unlink()
  with pytest.raises(InputError, match=r"00000-of-00002.*: no such file; expected the 350 records"):
    StoredRecords(folder)[0]
  first.write_bytes(data[: len(data) // 2])
  with pytest.raises(InputError, match=r"00000-of-00002.* 0 records; expected 350, as metadata"):
    StoredRecords(folder)[0]
  assert same(StoredRecords(folder)[400], records[400])
  stored._reader.cache_clear()
  first.write_bytes(data)
  damaged = bytearray(second.read_bytes())
  damaged[len(damaged) // 3] ^= 1
  second.write_bytes(damaged)
  with pytest.raises(InputError, match=r"00001-of-00002.*; expected whole records") as told:
    list(StoredRecords(folder))
  assert "\n" not in str(told.value)


def test_a_file_of_another_size_is_named_before_anything_is_read(records, tmp_path):
  folder = write_corpus(tmp_path / "corpus", records[:20], files=2)
  _, last = sorted((tmp_path / "corpus").glob("*.array_record"))
  data = last.read_bytes()
  last.write_bytes(b"")
  with pytest.raises(InputError, match=r"00001-of-00002.*: 0 bytes; expected 10 records"):
    len(StoredRecords(folder))
  files = {path.name: path.stat().st_size for path in (tmp_path / "corpus").iterdir()}
  manifest = {"key": "a", "files": files | {last.name: len(data)}}
  (tmp_path / "corpus" / "manifest.json").write_text(json.dumps(manifest))
  last.write_bytes(data[:-1])
  line = rf"00001-of-00002.*: {len(data) - 1} bytes; expected {len(data)}, as manifest.json"
  with pytest.raises(InputError, match=line):
    len(StoredRecords(folder))
  last.write_bytes(data)
  assert len(StoredRecords(folder)) == 20


def test_metadata_comes_back_and_is_checked(folder, tmp_path):
  metadata = read_metadata(folder)
  write_metadata(metadata, tmp_path)
  assert read_metadata(tmp_path) == metadata
  assert [path.name for path in tmp_path.iterdir()] == ["metadata.json"]
  written = json.loads((tmp_path / "metadata.json").read_text())
  for name, value, line in (
    ("records", 3, "records 3; expected 700, those of its files"),
    ("files", [{"name": "../x", "records": 700}], "files .* expected a list of"),
    ("max_words", None, "max_words None; expected a whole number from 3"),
    ("code", 2, "code 2; expected 1, records built again"),
    ("tokenizer", 7, "tokenizer 7; expected the digest"),
  ):
    (tmp_path / "metadata.json").write_text(json.dumps(written | {name: value}))
    with pytest.raises(InputError, match=line):
      read_metadata(tmp_path)
  with pytest.raises(InputError, match=r"nowhere: no metadata.json; expected a folder of records"):
    read_metadata("nowhere")


KINDS = ("byte_level", "sentence_piece", "word_piece")


@pytest.mark.parametrize("kind", KINDS)
def test_a_tokenizer_is_known_again(kind, tmp_path):
  digest = tokenizer_hash(TEXTS / kind)
  tokenizer = load_tokenizer(TEXTS / kind)
  assert tokenizer_hash(tokenizer) == digest
  save_tokenizer(tokenizer, tmp_path)  # with markers and settings
  assert tokenizer_hash(tmp_path) == digest
  assert [other for other in KINDS if tokenizer_hash(TEXTS / other) == digest] == [kind]


def test_another_order_of_merges_is_another_tokenizer(tmp_path):
  for name in ("vocab.json", "merges.txt"):
    (tmp_path / name).write_bytes((TEXTS / "byte_level" / name).read_bytes())
  assert tokenizer_hash(tmp_path) == tokenizer_hash(TEXTS / "byte_level")
  lines = (tmp_path / "merges.txt").read_text(encoding="utf-8").splitlines()
  lines[1], lines[2] = lines[2], lines[1]
  (tmp_path / "merges.txt").write_text("\n".join(lines), encoding="utf-8")
  assert tokenizer_hash(tmp_path) != tokenizer_hash(TEXTS / "byte_level")


def test_special_entities_are_found_in_any_spelling(folder, tmp_path):
  ids = read_entities(folder, 43)
  assert (ids.mask, ids.first, ids.stop) == (2, 3, 43)
  vocab = json.loads((Path(folder) / "entity_vocab.json").read_text())
  (tmp_path / "entity_vocab.json").write_text(json.dumps(vocab))  # on one line
  again = read_entities(str(tmp_path), 43)
  assert (again.mask, again.first, again.stop) == (2, 3, 43)


def test_folders_are_sampled_by_size_to_a_power(tmp_path, records):
  sizes = (600, 60, 6)
  parts = [
    write_corpus(tmp_path / str(size), [dataclasses.replace(r, page_id=k) for r in records[:size]])
    for k, size in enumerate(sizes)
  ]
  mixed = Corpora(tuple(map(StoredRecords, parts)), 0.7)
  counts = np.bincount([mixed[index].page_id for index in range(len(mixed))])
  powers = np.array(sizes) ** 0.7
  np.testing.assert_allclose(counts / counts.sum(), powers / powers.sum(), atol=1 / len(mixed))
  seen = [mixed.place(index) for index in range(len(mixed))]
  for folder, size in enumerate(sizes):
    times = np.bincount([number for at, number in seen if at == folder], minlength=size)
    assert times.min() >= 1 and times.max() - times.min() <= 1  # every record, none much more
  assert len(Corpora(mixed.folders, 1.0)) == sum(sizes)


def test_no_page_is_in_both_splits(folder, records):
  corpora = Corpora((StoredRecords(folder),))
  dev = HeldOutRecords(corpora, 0.2, 10_000)
  train = TrainingRecords(corpora, 0.2)
  held_out = {record.to_bytes() for record in map(dev.__getitem__, range(len(dev)))}
  trained = [train[index] for index in range(len(train))]
  assert len(train) == 700
  assert not held_out & {record.to_bytes() for record in trained}
  assert held_out | {record.to_bytes() for record in trained} == {r.to_bytes() for r in records}
  pages = {dev[index].page_id for index in range(len(dev))} - {-1}
  assert pages and not pages & {record.page_id for record in trained}
  assert 0.05 * ENTITIES < len(pages) < 0.4 * ENTITIES
  assert len(HeldOutRecords(corpora, 0.2, 7)) == 7


def test_shares_that_leave_nothing_are_refused(folder):
  corpora = Corpora((StoredRecords(folder),))
  with pytest.raises(InputError, match="none of 700 records is held out at a share of 1e-09"):
    len(HeldOutRecords(corpora, 1e-9, 10))
  with pytest.raises(InputError, match="every record is held out; expected some to train on"):
    TrainingRecords(corpora, 1 - 1e-12)[0]


def test_many_records_at_once_are_those_one_by_one(folder, records):
  rng = np.random.default_rng(1)
  several = Corpora((StoredRecords(folder), StoredRecords(folder)))
  training = TrainingRecords(several, 0.4)
  for source in (StoredRecords(folder), several, training):
    indices = rng.integers(0, len(source), 50).tolist()
    assert all(map(same, source.__getitems__(indices), [source[i] for i in indices]))
  with pytest.raises(InputError, match="every record is held out"):
    TrainingRecords(several, 1.0).__getitems__([3, 4])


def test_sixty_four_hosts_read_each_file_once_a_step(tmp_path, monkeypatch):
  """A batch of 2,048 rows: each host reads its 32 in a read per file, about 8 of 8, not 32."""
  corpus = StoredRecords(write_corpus(tmp_path / "corpus", toy_records(4096), files=8))
  reads, open_reader = [], stored._reader

  class Counted:
    def __init__(self, path, count):
      self.path, self.reader = path, open_reader(path, count)

    def read(self, indices):
      reads.append(self.path)
      return self.reader.read(indices)

  monkeypatch.setattr(stored, "_reader", Counted)

  def ids(records, rngs):
    return {"page": np.array([record.page_id for record in records])}

  def batches(rows):
    return TrainingBatches(Corpora((corpus,)), ids, 0, 2048, 1, rows)

  hosts, per_step = [], []
  for host in range(64):
    reads.clear()
    hosts.append(batches(np.arange(host * 32, (host + 1) * 32))(3)["page"])
    per_step.append(len(reads))
    assert len(set(reads)) == len(reads) <= 8
  assert 64 * 7 < sum(per_step) <= 64 * 8
  whole = batches(np.arange(2048))(3)["page"]
  np.testing.assert_array_equal(np.concatenate(hosts, axis=1), whole)


def test_more_files_than_may_be_open(tmp_path):
  """Read in a process that may open fewer, as the usual limit is 1,024 files."""
  folder = write_corpus(tmp_path / "corpus", toy_records(120), files=120)
  code = (
    "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))\n"
    "from luke_jax.pipeline.stored import StoredRecords\n"
    f"records = StoredRecords({folder!r})\n"
    "assert len([records[i] for _ in range(2) for i in range(120)]) == 240"
  )
  done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
  assert not done.returncode, done.stderr
