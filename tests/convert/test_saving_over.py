"""Saving where a model stood before: whatever goes wrong, one whole model is there after it."""

import contextlib
import errno
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from tiny import tiny_model

from luke_jax.convert import saving
from luke_jax.errors import InputError

FILES = 9  # that a model with a text side has


@pytest.fixture
def older(tmp_path):
  """A directory with an older model of other files, and with what is not the model's."""
  target = tmp_path / "model"
  tiny_model("LukeForEntityClassification").save(target)
  (target / "model.safetensors").rename(target / "pytorch_model.bin")
  (target / "added_tokens.json").unlink()
  (target / "tokenizer.json").write_text("{}")
  (target / "notes.txt").write_text("mine")
  return target


def contents(directory):
  return {file.name: file.read_bytes() for file in directory.iterdir()}


def failing(monkeypatch, at, fault):
  """Lets the file number `at` that is moved into the target fail, and nothing after it."""
  replace, moved = Path.replace, []

  def faulty(source, place):
    moved.append(place)
    if len(moved) == at:
      raise fault
    replace(source, place)

  monkeypatch.setattr(Path, "replace", faulty)
  return moved


@pytest.mark.parametrize("fault", [OSError("Input/output error"), KeyboardInterrupt()])
@pytest.mark.parametrize("at", [1, 2, FILES])
def test_the_older_model_comes_back(older, monkeypatch, at, fault):
  before = contents(older)
  moved = failing(monkeypatch, at, fault)
  with pytest.raises(type(fault)):
    tiny_model().save(older)
  assert len(moved) > at
  assert contents(older) == before


@contextlib.contextmanager
def largest_file(size):
  """Lets files grow to a size only, as a full disk does."""
  before = resource.getrlimit(resource.RLIMIT_FSIZE)
  resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
  try:
    yield
  finally:
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_is_one_line_and_the_older_model_stays(older):
  before, model = contents(older), tiny_model()
  for target in (older, older.parent / "new"):
    with largest_file(100_000), pytest.raises(InputError) as refused:
      model.save(target)
    assert str(refused.value) == (
      f"{target}: File too large; expected a disk with room for the whole model"
    )
  assert contents(older) == before and not (older.parent / "new").exists()


@pytest.mark.parametrize(
  "fault",
  [
    Exception("No space left on device (os error 28)"),  # as tokenizers raises it
    OSError(errno.ENOSPC, "No space left on device"),
    OSError(errno.EDQUOT, "Disk quota exceeded"),
  ],
)
def test_a_disk_that_is_full_after_the_weights(older, monkeypatch, fault):
  def faulty(*_):
    try:
      raise fault
    except Exception:
      raise RuntimeError("unexpected end")  # noqa: B904 - as torch raises it

  before, model = contents(older), tiny_model()
  monkeypatch.setattr(saving, "save_processor", faulty)
  with pytest.raises(InputError, match=f"^{older}: .*; expected a disk with room"):
    model.save(older)
  assert contents(older) == before


def test_it_comes_back_when_the_last_step_fails(older, monkeypatch):
  before = contents(older)
  unlink = Path.unlink

  def faulty(path, **options):
    if path.name == "tokenizer.json" and not options:
      raise PermissionError("not yours")
    unlink(path, **options)

  monkeypatch.setattr(Path, "unlink", faulty)
  with pytest.raises(PermissionError):
    tiny_model().save(older)
  assert contents(older) == before


def test_nothing_is_touched_if_the_older_files_cannot_be_kept(older, monkeypatch):
  before = contents(older)

  def faulty(*_):
    raise OSError("No space left on device")

  monkeypatch.setattr(saving.os, "link", faulty)
  monkeypatch.setattr(saving.shutil, "copy2", faulty)
  with pytest.raises(InputError, match="No space left"):
    tiny_model().save(older)
  assert contents(older) == before


def test_without_hard_links_the_older_files_are_copied(older, monkeypatch):
  def faulty(*_):
    raise OSError("Operation not supported")

  before = contents(older)
  with monkeypatch.context() as without_links:
    without_links.setattr(saving.os, "link", faulty)
    failing(without_links, 3, OSError("No space left on device"))
    with pytest.raises(InputError, match="No space left"):
      tiny_model().save(older)
  assert contents(older) == before


def test_a_process_that_dies_leaves_the_older_files_whole(older):
  before = contents(older)
  code = (
    "import os, sys; from pathlib import Path; sys.path.insert(0, sys.argv[1]);"
    " from tiny import tiny_model; replace, moved = Path.replace, []\n"
    "def dying(source, place):\n"
    "  if moved: os._exit(9)\n"
    "  moved.append(replace(source, place))\n"
    "Path.replace = dying; tiny_model().save(sys.argv[2])"
  )
  tests = Path(__file__).parents[1]
  done = subprocess.run([sys.executable, "-c", code, tests, older], check=False)
  assert done.returncode == 9
  (kept,) = older.glob(".older-*")
  assert contents(kept) == {name: text for name, text in before.items() if name != "notes.txt"}
  tiny_model().save(older)
  assert not [path.name for path in older.iterdir() if path.name.startswith(".")]


def test_a_model_of_other_files_is_replaced_whole(older):
  tiny_model().save(older)
  tiny_model().save(older.parent / "fresh")
  assert contents(older) == contents(older.parent / "fresh") | {"notes.txt": b"mine"}
