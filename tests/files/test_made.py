"""What is made of a file: once, whole or not at all, and anew when the file changes."""

import os
import signal
import subprocess
import sys

import pytest

from luke_jax.errors import InputError
from luke_jax.files import Path as LukePath
from luke_jax.files.copies import made


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
  monkeypatch.setenv("LUKE_JAX_CACHE", str(tmp_path / "cache"))


def copied(source):
  """Makes a folder with a copy of a file."""

  def make(folder):
    (folder / "copy").write_bytes(source.read_bytes())

  return make


def none(folder):
  raise AssertionError("made again")


def kept(tmp_path):
  """The contents of all that was made, and names of what a process left."""
  files = [x for x in (tmp_path / "cache").rglob("*") if x.is_file()]
  assert {x.name for x in files} <= {"lock", "source", "copy"}
  assert not [x for x in files if x.parent.name == "part"]
  return sorted(x.read_text() for x in files if x.name == "copy")


def test_a_file_is_read_once_for_each_content(tmp_path, monkeypatch):
  source = tmp_path / "a"
  source.write_text("one")
  folder = made(source, "copies", "1", copied(source)).folder
  assert made(source, "copies", "1", none).folder == folder
  monkeypatch.chdir(tmp_path)
  assert made(LukePath("a"), "copies", "1", none).folder == folder
  source.write_text("two")
  assert made(source, "copies", "1", copied(source)).folder != folder
  assert kept(tmp_path) == ["two"]  # no one used the first
  made(source, "copies", "2", copied(source))
  made(source, "copies", "1", none)
  assert kept(tmp_path) == ["two", "two"]


def test_what_is_used_stays_until_it_is_not(tmp_path):
  source = tmp_path / "a"
  source.write_text("one")
  used = made(source, "copies", "1", copied(source))
  for text, there in (("second", ["one", "second"]), ("third", ["one", "third"])):
    source.write_text(text)
    made(source, "copies", "1", copied(source))
    assert kept(tmp_path) == there
  del used
  source.write_text("fourth")
  made(source, "copies", "1", copied(source))
  assert kept(tmp_path) == ["fourth"]


def test_what_was_made_of_files_that_are_gone_goes(tmp_path):
  for name in "ab":
    (tmp_path / name).write_text(name)
    made(tmp_path / name, "copies", "1", copied(tmp_path / name))
  assert kept(tmp_path) == ["a", "b"]
  (tmp_path / "a").unlink()
  (tmp_path / "c").write_text("c")
  made(tmp_path / "c", "copies", "1", copied(tmp_path / "c"))
  assert kept(tmp_path) == ["b", "c"]
  assert len(list((tmp_path / "cache" / "copies").iterdir())) == 2


AT_ONCE = """
import os, sys, time
from luke_jax.files import Path
from luke_jax.files.copies import made

def make(folder):
  print("makes", flush=True)
  if len(sys.argv) > 2:
    (folder / "copy").write_text("hal")
    os.kill(os.getpid(), int(sys.argv[2]))
  time.sleep(0.5)
  (folder / "copy").write_text("whole")

print((made(Path(sys.argv[1]), "copies", "1", make).folder / "copy").read_text())
"""


def start(*arguments):
  environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
  command = [sys.executable, "-c", AT_ONCE, *map(str, arguments)]
  return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


def test_one_of_several_processes_makes_it(tmp_path):
  (tmp_path / "a").write_text("a")
  printed = [process.communicate()[0] for process in [start(tmp_path / "a") for _ in range(3)]]
  assert sorted(printed) == ["makes\nwhole\n", "whole\n", "whole\n"]


def test_a_kill_half_way_leaves_nothing_that_is_read(tmp_path):
  (tmp_path / "a").write_text("a")
  killed = start(tmp_path / "a", int(signal.SIGKILL))
  assert (killed.communicate()[0], killed.returncode) == ("makes\n", -signal.SIGKILL)
  assert list((tmp_path / "cache").rglob("part"))
  made(tmp_path / "a", "copies", "1", copied(tmp_path / "a"))
  assert kept(tmp_path) == ["a"]


def test_what_fails_leaves_nothing(tmp_path):
  (tmp_path / "a").write_text("a")

  def full(folder):
    (folder / "copy").write_text("hal")
    raise OSError(28, "No space left on device")

  with pytest.raises(InputError, match=r"a: No space left on device in .*cache, .*LUKE_JAX_CACHE"):
    made(tmp_path / "a", "copies", "1", full)

  def changing(folder):
    (tmp_path / "a").write_text("b")

  with pytest.raises(InputError, match=r"a: changes while it is read; expected it to stay"):
    made(tmp_path / "a", "copies", "1", changing)
  assert kept(tmp_path) == []
  with pytest.raises(FileNotFoundError):
    made(tmp_path / "none", "copies", "1", none)


def test_a_cache_that_cannot_be_written(tmp_path, monkeypatch):
  (tmp_path / "a").write_text("a")
  monkeypatch.setenv("LUKE_JAX_CACHE", str(tmp_path / "a"))
  assert made(tmp_path / "a", "copies", "1", none) is None


def test_what_lost_its_files_is_made_again(tmp_path):
  (tmp_path / "a").write_text("a")
  folder = made(tmp_path / "a", "copies", "1", copied(tmp_path / "a")).folder
  (folder / "source").unlink()
  made(tmp_path / "a", "copies", "1", copied(tmp_path / "a"))
  assert kept(tmp_path) == ["a"]


def test_objects_of_a_bucket(bucket, tmp_path):
  source = bucket / "a"
  for text in ("one", "two"):
    source.write_bytes(text.encode())
    made(source, "copies", "1", copied(source))
    made(source, "copies", "1", none)
    assert kept(tmp_path) == [text]
