"""Places in a bucket, through the real client libraries, beside the same ones on a disk."""

import os
import pathlib
import pickle

import pytest

from luke_jax.errors import InputError
from luke_jax.files import Path, in_bucket, read_json, remove, sha256, sizes, whole, write_json
from luke_jax.files.locks import locked


def test_one_name_for_both_kinds(tmp_path, cloud_storage):
  assert type(Path("a", "b")) is type(pathlib.Path("a", "b"))
  assert isinstance(tmp_path, Path)
  there = Path("gs://bucket/a")
  assert isinstance(there, Path)
  assert in_bucket(there)
  assert not in_bucket(tmp_path)
  assert str(there / "b.txt") == "gs://bucket/a/b.txt"
  assert str((there / "b.txt").with_suffix(".json").parent) == "gs://bucket/a"
  assert pickle.loads(pickle.dumps(there)) == there  # noqa: S301
  # pathlib keeps one slash of the two.
  assert Path(pathlib.Path("gs://bucket/a")) == there == Path(there) == Path(str(there))
  assert Path(there, "b") == there / "b"


@pytest.mark.parametrize("kind", ["bucket", "tmp_path"])
def test_files_and_folders(kind, request):
  folder = request.getfixturevalue(kind) / "new"
  assert not folder.exists()
  folder.mkdir(parents=True)
  write_json(folder / "a.json", {"é": 1})
  with whole(folder / "b.txt") as part:
    part.write_text("one\ntwo\n")
  (folder / "below" / "x").mkdir(parents=True)
  with whole(folder / "below" / "x" / "c.bin") as part:
    part.write_bytes(b"x" * 100)
  assert read_json(folder / "a.json") == {"é": 1}
  assert (folder / "b.txt").read_text() == "one\ntwo\n"
  with (folder / "b.txt").open(encoding="utf-8") as file:
    assert list(file) == ["one\n", "two\n"]
  with (folder / "below/x/c.bin").open("rb") as file:
    file.seek(90)
    assert file.read() == b"x" * 10
  assert folder.is_dir()
  assert not folder.is_file()
  assert (folder / "b.txt").is_file()
  assert not (folder / "b.txt").is_dir()
  assert {path.name for path in folder.iterdir()} == {"a.json", "b.txt", "below"}
  assert [path.name for path in folder.glob("*.txt")] == ["b.txt"]
  assert "c.bin" in {path.name for path in folder.rglob("*")}
  assert sizes(folder) == {"a.json": 13, "b.txt": 8, "below/x/c.bin": 100}
  assert (folder / "b.txt").stat().st_size == 8
  assert sha256(folder / "b.txt").startswith("c3f9")
  (folder / "below").rename(folder / "moved")
  assert sizes(folder / "moved") == {"x/c.bin": 100}
  (folder / "a.json").unlink()
  (folder / "a.json").unlink(missing_ok=True)
  with pytest.raises(FileNotFoundError):
    (folder / "a.json").unlink()
  with pytest.raises(FileNotFoundError, match=r"a\.json"):
    (folder / "a.json").open("rb")
  with pytest.raises(FileNotFoundError):
    (folder / "a.json").read_bytes()
  remove(folder)
  remove(folder)
  assert not folder.exists()


@pytest.mark.parametrize("kind", ["bucket", "tmp_path"])
def test_nothing_is_there_before_all_of_it_is(kind, request):
  folder = request.getfixturevalue(kind)
  write_json(folder / "a.json", 1)

  def fail():
    with whole(folder / "a.json") as part:
      part.write_text("2")
      raise KeyError

  with pytest.raises(KeyError):
    fail()
  assert sizes(folder) == {"a.json": 2}
  assert read_json(folder / "a.json") == 1


def test_an_object_cannot_be_opened_to_write(bucket):
  with pytest.raises(OSError, match=r"expected luke_jax\.files\.whole"):
    (bucket / "a").open("w")


def test_a_large_object_and_long_listings(bucket):
  data = os.urandom(11 << 20)  # several parts
  with whole(bucket / "big") as part:
    part.write_bytes(data)
  assert (bucket / "big").read_bytes() == data
  for number in range(60):  # more than a page
    (bucket / "many" / f"{number:02}").write_bytes(b"")
  assert len(list((bucket / "many").iterdir())) == len(sizes(bucket / "many")) == 60


def test_a_missing_bucket_is_one_line(cloud_storage):
  with pytest.raises(InputError, match=r"missing/a: no such bucket; expected one that exists"):
    write_json(Path("gs://missing/a"), 1)
  with (
    pytest.raises(InputError, match=r"gs://missing/run: 404 .*not exist.*; expected a bucket"),
    locked(Path("gs://missing/run")),
  ):
    pass


def test_a_missing_client_is_one_line(bucket, monkeypatch):
  monkeypatch.setattr("fsspec.filesystem", lambda *_, **__: exec("raise ImportError"))
  monkeypatch.setattr("etils.epath.backend.fsspec_backend.fs", lambda _: exec("raise ImportError"))
  with pytest.raises(InputError, match=r"gcsfs: not installed; .*luke_jax\[gcs\]"):
    bucket.exists()
