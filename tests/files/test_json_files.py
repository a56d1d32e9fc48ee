"""JSON that is none, and files that are no files."""

import os
from pathlib import Path

import pytest

from luke_jax.errors import InputError
from luke_jax.files import read_json_object


def test_a_number_of_thousands_of_digits(tmp_path):
  (tmp_path / "config.json").write_text('{"vocab_size": ' + "1" * 5000 + "}")
  with pytest.raises(InputError, match=r"^.*config.json: .*digits.*; expected a config$") as fault:
    read_json_object(tmp_path / "config.json", "a config")
  assert "\n" not in str(fault.value)


def test_a_key_that_stands_twice(tmp_path):
  (tmp_path / "config.json").write_text('{"a": 1, "a": 2}')
  with pytest.raises(InputError, match="key 'a' stands twice"):
    read_json_object(tmp_path / "config.json", "a config")


def test_pipes_and_devices_are_not_waited_for(tmp_path):
  os.mkfifo(tmp_path / "pipe.json")
  (tmp_path / "zero.json").symlink_to("/dev/zero")
  (tmp_path / "folder.json").mkdir()
  for name in ("pipe", "zero", "folder"):
    with pytest.raises(InputError, match=f"{name}.json: not a regular file; expected one"):
      read_json_object(Path(tmp_path / f"{name}.json"), "a config")
