"""Files that are written whole: which they were, and which found no room."""

import errno

import pytest

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
