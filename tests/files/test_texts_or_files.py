"""A word of the command line that is either the path of a file or a text."""

import pytest

from luke_jax.cli.process import outcome
from luke_jax.errors import InputError
from luke_jax.files import is_file_in, is_there
from luke_jax.formats.datasets import is_split
from luke_jax.formats.records import sources_of

LONG = "Ana lives in Paris, and works there. " * 200


@pytest.mark.parametrize(
  "text", [LONG, LONG + "a.txt", "圆周率是3.14" * 60, "a\0b", "", "A river.", "U.S. and/or Peru"]
)
def test_a_text_of_any_length_is_no_file(text):
  assert not is_file_in(text, "a text") and not is_there(text or "none")
  assert not is_split(f"{text}: so it is")


@pytest.mark.parametrize("text", ["gone.jsonl", "my texts/gone.csv", "/gone", "no/file"])
def test_a_path_of_nothing_is_no_text(text):
  with pytest.raises(InputError, match=f"^{text}: no such file; expected a text$"):
    is_file_in(text, "a text")


def test_what_is_there_and_no_text(tmp_path):
  (tmp_path / "a b.txt").write_text("Ana")
  assert is_file_in(str(tmp_path / "a b.txt"), "a text")
  with pytest.raises(InputError, match="a folder; expected a text"):
    is_file_in(str(tmp_path), "a text")
  with pytest.raises(InputError, match="the text: not UTF-8; expected a text"):
    is_file_in("\udcff", "a text")


def test_many_files_set_apart_by_commas():
  names = tuple(f"train-{number}.jsonl" for number in range(500))
  assert sources_of(",".join(names)) == names


def test_a_message_is_short():
  line, status = outcome(OSError(36, "File name too long", LONG)) or ("", 0)
  assert len(line) < 1100 and line.endswith(": File name too long") and status == 2
