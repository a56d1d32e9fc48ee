"""Loss of power: what a note relies on is on the disk before the note is.

A layer over the calls of the system records what was waited for. From that it makes folders as a
disk could have them if the power went at any moment: files have the content that was last waited
for, or none, and names are those that were last waited for, or all that there are.
"""

import dataclasses
import os
import shutil
from pathlib import Path

import pytest

from luke_jax import files
from luke_jax.files import read_json, whole, write_json, write_sizes
from luke_jax.wiki.stages.engines import local
from luke_jax.wiki.stages.stage import Stage, finish, read_finished

SHARDS = 2


class Disk:
  """What is on the disk of a folder, and what could have been there after a loss of power."""

  def __init__(self, root):
    self.root, self.states = root, []
    self._data, self._names, self._open = {}, {}, {}

  def watch(self, patch):
    for name in ("replace", "rename", "unlink", "rmdir"):
      patch.setattr(os, name, self._recorded(getattr(os, name)))
    fsync = os.fsync

    def waited(descriptor):
      self._record()
      fsync(descriptor)
      self._wait(Path(f"/proc/self/fd/{descriptor}").readlink())
      self._record()

    patch.setattr(os, "fsync", waited)

  def has(self, path):
    """Whether a file's content is on the disk."""
    return self._data.get(self._number(path)) == path.read_bytes()

  def _recorded(self, call):
    def recorded(*arguments, **options):
      self._record()
      try:
        return call(*arguments, **options)
      finally:
        self._record()

    return recorded

  def _number(self, path):
    number = path.stat().st_ino
    if number not in self._open:  # so that no other file gets this number
      self._open[number] = path.open("rb")
    return number

  def _wait(self, path):
    if path.is_file():
      self._data[self._number(path)] = path.read_bytes()
    elif path.is_relative_to(self.root):
      names = {x: self._number(x) for x in path.iterdir() if x.is_file()}
      kept = {x: number for x, number in self._names.items() if x.parent != path}
      self._names = kept | names

  def _record(self):
    now = {x: self._number(x) for x in self.root.rglob("*") if x.is_file()}
    for names in (self._names, now):
      state = {str(x.relative_to(self.root)): self._data.get(n, b"") for x, n in names.items()}
      if state not in self.states:
        self.states.append(state)

  def close(self):
    for file in self._open.values():
      file.close()


@pytest.fixture
def disk(tmp_path):
  (tmp_path / "disk").mkdir()
  disk = Disk(tmp_path / "disk")
  yield disk
  disk.close()


@dataclasses.dataclass(frozen=True)
class Write:
  """Writes two files a shard."""

  folder: Path

  def __call__(self, shard):
    for name in ("a", "b"):
      with whole(self.folder / f"{name}-{shard}.txt") as part:
        part.write_text(f"{name}{shard}" * 9)
    return {"number": shard}


def made(folder):
  with local(1) as engine:
    return finish(Stage(folder / "toy", SHARDS, Write(folder / "toy"), {}), engine)


def restored(state, folder):
  shutil.rmtree(folder, ignore_errors=True)
  for name, data in state.items():
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)
  folder.mkdir(exist_ok=True)
  return folder


def contents(folder):
  return {x.name: x.read_bytes() for x in folder.rglob("*") if x.is_file()}


def stages_after_losses(disk, tmp_path):
  """The contents of the stage when it goes on from each state, without those that are right."""
  with pytest.MonkeyPatch.context() as patch:
    disk.watch(patch)
    made(disk.root)
  right, wrong = contents(disk.root / "toy"), []
  assert len(disk.states) > 15
  for state in disk.states:
    folder = restored(state, tmp_path / "after")
    try:
      made(folder)
    except Exception as fault:
      wrong.append(fault)
    else:
      if right.items() - contents(folder / "toy").items():  # notes may stay beside them
        wrong.append(state)
  return wrong


def test_a_stage_goes_on_from_any_loss_of_power(disk, tmp_path):
  assert not stages_after_losses(disk, tmp_path)
  assert read_finished(disk.root / "toy").counts == {"number": 1}


def test_without_waiting_it_would_not(disk, tmp_path, monkeypatch):
  monkeypatch.setattr(files, "sync", lambda path: path.stat())
  assert stages_after_losses(disk, tmp_path)


def test_a_file_is_the_old_or_the_new_one(disk):
  write_json(disk.root / "a.json", "old")
  with pytest.MonkeyPatch.context() as patch:
    disk.watch(patch)
    files.sync_all(disk.root)
    disk.states.clear()
    write_json(disk.root / "a.json", "new")
  found = {state["a.json"] for state in disk.states}
  assert found == {b'"old"\n', b'"new"\n'}
  assert disk.states[-1]["a.json"] == b'"new"\n'


def test_the_sizes_of_a_checkpoint_follow_its_files(disk, monkeypatch):
  """Orbax's own files are written outside of Python; they are waited for before their sizes."""
  step = disk.root / "4"
  (step / "state" / "d").mkdir(parents=True)
  for name in ("state/d/x", "state/manifest", "_METADATA"):
    (step / name).write_text(name)
  disk.watch(monkeypatch)
  write_sizes(step, "sizes.json")
  assert read_json(step / "sizes.json") == {"_METADATA": 9, "state/d/x": 9, "state/manifest": 14}
  for state in disk.states:
    if state.get("4/sizes.json"):
      found = {name: len(data) for name, data in state.items() if name != "4/sizes.json"}
      assert found == {"4/_METADATA": 9, "4/state/d/x": 9, "4/state/manifest": 14}
  assert disk.states[-1]["4/sizes.json"]
