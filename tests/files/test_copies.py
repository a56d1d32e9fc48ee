"""Copies of a bucket's files: downloaded once, checked, and within a bound."""

import os
import subprocess
import sys
import time

import pytest

from luke_jax.errors import InputError
from luke_jax.files import copies
from luke_jax.files.copies import local


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
  monkeypatch.setenv("LUKE_JAX_CACHE", str(tmp_path / "cache"))


def kept(tmp_path):
  return sorted(x.name for x in (tmp_path / "cache").rglob("*") if x.is_file())


def test_a_file_of_this_machine_is_itself(tmp_path):
  assert local(tmp_path / "a") == tmp_path / "a"
  assert not (tmp_path / "cache").exists()


def test_an_object_is_downloaded_once_for_each_content(bucket, cloud_storage, tmp_path):
  (bucket / "a.bin").write_bytes(b"one")
  copy = local(bucket / "a.bin")
  assert (copy.name, copy.read_bytes()) == ("a.bin", b"one")
  reads = cloud_storage.requests["read"]
  assert local(bucket / "a.bin") == copy
  assert cloud_storage.requests["read"] == reads
  (bucket / "a.bin").write_bytes(b"two")
  assert local(bucket / "a.bin").read_bytes() == b"two"
  assert copy.read_bytes() == b"one"  # for who has it open
  with pytest.raises(FileNotFoundError, match="gs://"):
    local(bucket / "b.bin")
  assert kept(tmp_path) == ["a.bin", "a.bin"]


def test_what_arrives_damaged_is_fetched_again(bucket, tmp_path, monkeypatch):
  (bucket / "a").write_bytes(b"content")
  download, times = type(bucket).download, []

  def damaged(path, file):
    download(path, file)
    times.append(0)
    if len(times) < bad:
      file.write_bytes(b"contemt")

  monkeypatch.setattr(type(bucket), "download", damaged)
  bad = 3
  with pytest.raises(InputError, match=r"a: arrives damaged, or changes while it is read"):
    local(bucket / "a")
  assert not kept(tmp_path)
  bad = 4  # the third one is, the fourth is not
  assert local(bucket / "a").read_bytes() == b"content"


@pytest.mark.parametrize("age", [8000, -8000])  # of a clock that was set back since
def test_the_least_used_make_room(bucket, tmp_path, monkeypatch, age):
  monkeypatch.setenv("LUKE_JAX_BUCKET_CACHE", "2.5e-6")  # gigabytes: two and a half of these
  for name in "abcd":
    (bucket / name).write_bytes(name.encode() * 1000)
  for unused, name in ((9000, "a"), (age, "b")):
    os.utime(local(bucket / name), (time.time() - unused,) * 2)
  local(bucket / "a")  # used again
  local(bucket / "c")
  assert kept(tmp_path) == ["a", "c"]
  local(bucket / "d")  # what was used just now stays, even beyond the bound
  assert kept(tmp_path) == ["a", "c", "d"]
  monkeypatch.setenv("LUKE_JAX_BUCKET_CACHE", "much")
  (bucket / "e").write_bytes(b"e")
  with pytest.raises(InputError, match=r"LUKE_JAX_BUCKET_CACHE: 'much'; expected a number of giga"):
    local(bucket / "e")


@pytest.mark.slow
def test_several_processes_download_it_once(bucket, cloud_storage):
  (bucket / "a").write_bytes(os.urandom(1 << 20))
  code = f"from luke_jax.files import Path, copies; print(copies.local(Path('{bucket}/a')))"
  environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
  reads = cloud_storage.requests["read"]
  command = [sys.executable, "-c", code]
  processes = [
    subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(4)
  ]
  assert len({process.communicate()[0] for process in processes}) == 1
  assert cloud_storage.requests["read"] == reads + 1
  assert copies.local(bucket / "a").read_bytes() == (bucket / "a").read_bytes()
