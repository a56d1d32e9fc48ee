"""Locks of folders: on a disk and in a bucket, against the living, the dead and the silent."""

import contextlib
import functools
import json
import os
import signal
import subprocess
import sys
import time

import pytest

from luke_jax.errors import InputError
from luke_jax.files import Path, locks, write_json
from luke_jax.files.locks import LOCK, locked, new_folder, this_process

HOLD = """
import sys, time
from luke_jax.files import Path
from luke_jax.files.locks import locked
with locked(Path(sys.argv[1])):
  print("locked", flush=True)
  time.sleep(60)
"""


@contextlib.contextmanager
def another(folder):
  """A process that holds the lock of a folder."""
  environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
  command = [sys.executable, "-c", HOLD, str(folder)]
  with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
    try:
      assert process.stdout.readline() == "locked\n"
      yield process
    finally:
      process.kill()


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
  for name, seconds in (("RENEWED", 0.1), ("STALE", 0.5), ("LOOK", 0.05)):
    monkeypatch.setattr(locks, name, seconds)


@pytest.fixture(params=["tmp_path", "bucket"])
def folder(request):
  return request.getfixturevalue(request.param) / "run"


def test_one_at_a_time_and_no_trace_after(folder):
  with locked(folder):
    with pytest.raises(InputError, match=rf"{folder}: another command is at work here \(process"):
      locked(folder).__enter__()
    with locked(folder.parent / "other"):
      pass
    time.sleep(0.3)  # it is renewed
    assert json.loads((folder / LOCK).read_text())["process"] == os.getpid()
  assert not folder.exists()
  with locked(folder):
    write_json(folder / "a.json", 1)
  assert [path.name for path in folder.iterdir()] == ["a.json"]


def test_another_process_that_lives_and_that_is_killed(folder):
  with another(folder) as process:
    with pytest.raises(InputError, match=rf"at work here \(process {process.pid} on "):
      locked(folder).__enter__()
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert (folder / LOCK).is_file()
    with locked(folder):
      pass


def test_a_lock_that_is_no_json_is_not_in_the_way(tmp_path):
  (tmp_path / LOCK).write_text("?")
  with locked(tmp_path):
    pass


@pytest.mark.parametrize("text", ["?", json.dumps(this_process() | {"processes": "elsewhere"})])
def test_a_machine_that_is_silent(bucket, text):
  (bucket / LOCK).write_text(text)
  begun = time.monotonic()
  with pytest.warns(UserWarning, match="waiting 0.5 s for a sign of life"), locked(bucket):
    assert time.monotonic() > begun + 0.5
    assert json.loads((bucket / LOCK).read_text())["process"] == os.getpid()
  assert not (bucket / LOCK).exists()


def test_a_machine_that_renews_its_lock(bucket):
  owner = this_process() | {"processes": "elsewhere", "host": "far"}
  (bucket / LOCK).write_text(json.dumps(owner))
  with pytest.MonkeyPatch.context() as patch:
    # Where the waiting one looks again, the other has written.
    renew = functools.partial((bucket / LOCK).write_text, json.dumps(owner))
    patch.setattr(locks.time, "sleep", lambda _: renew())
    with (
      pytest.warns(UserWarning, match="waiting"),
      pytest.raises(InputError, match=r"at work here \(process \d+ on far since"),
    ):
      locked(bucket).__enter__()


@pytest.mark.slow
def test_an_owner_whose_lock_was_taken_over_ends(bucket):
  code = f"from luke_jax.files import locks\nlocks.RENEWED = 0.1\n{HOLD}"
  environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
  process = subprocess.Popen(
    [sys.executable, "-c", code, str(bucket)],
    env=environment,
    stdout=subprocess.PIPE,
    stderr=subprocess.PIPE,
    text=True,
  )
  assert process.stdout.readline() == "locked\n"
  (bucket / LOCK).write_text(json.dumps(this_process()))
  _, errors = process.communicate(timeout=30)
  assert process.returncode == 2
  assert errors.splitlines()[-1].startswith(f"luke-jax: {bucket}: taken over by another command")


def test_a_folder_that_cannot_be_written(tmp_path):
  (tmp_path / "file").write_text("")
  with pytest.raises(InputError, match=r"file: .*; expected a folder to write to"):
    locked(Path(tmp_path / "file")).__enter__()


def test_folders_of_processes_that_are_gone_are_removed(tmp_path):
  """A lock ends with its process, so nothing holds what a kill has left."""
  (tmp_path / ".new-of-a-kill" / "below").mkdir(parents=True)
  (tmp_path / ".new-link").symlink_to(tmp_path)
  (tmp_path / "other").mkdir()
  with new_folder(tmp_path, ".new-") as one:
    with new_folder(tmp_path, ".new-") as other:
      assert one.is_dir() and other.is_dir()  # both are at work
    assert {x.name for x in tmp_path.iterdir()} == {one.name, "other", ".new-link"}
  assert {x.name for x in tmp_path.iterdir()} == {"other", ".new-link"}
