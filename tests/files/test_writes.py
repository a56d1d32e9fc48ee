"""Files that are written whole: which they were, and which found no room."""

import errno

import pytest

from luke_jax import files
from luke_jax.files import whole, write_json, written


def test_a_write_that_finds_no_room_names_its_file(tmp_path):
  with (
    pytest.raises(OSError, match="No space") as raised,
    written() as paths,
    whole(tmp_path / "a.txt"),
  ):
    raise OSError(errno.ENOSPC, "No space left on device")  # as a write does, without a name
  assert raised.value.filename == str(tmp_path / "a.txt")
  assert not paths and not list(tmp_path.iterdir())


def test_files_written_in_a_block_are_known(tmp_path):
  write_json(tmp_path / "before.json", 1)
  with written() as paths:
    write_json(tmp_path / "a.json", 1)
    with whole(tmp_path / "b.txt") as part:
      part.write_text("b")
  write_json(tmp_path / "after.json", 1)
  assert paths == [tmp_path / "a.json", tmp_path / "b.txt"]


def test_what_other_processes_write_into_a_folder_meanwhile_is_left_to_them(tmp_path, monkeypatch):
  """It may get its name, and so be gone under the one that it had, before it is opened."""
  seen = []
  monkeypatch.setattr(files, "sync", seen.append)
  with files.filled(tmp_path) as folder:
    for name in ("mine.json", "records.4ce4f035.part.array_record"):
      (folder / name).touch()
  assert seen == [tmp_path / "mine.json", tmp_path]
