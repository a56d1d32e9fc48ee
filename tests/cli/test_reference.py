"""The reference of the command line is what the commands say of themselves."""

import re
from pathlib import Path

import pytest

from luke_jax.cli import COMMANDS, main
from luke_jax.cli.reference import reference

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.fixture(scope="module")
def written():
  return "\n".join(reference().values())


def test_the_pages_are_current():
  pages = reference()
  there = {f"cli/{file.name}" for file in (DOCS / "cli").iterdir()} | {"cli.md"}
  for name in there | pages.keys():
    command = "python -m luke_jax.cli.reference docs"
    assert (DOCS / name).read_text(encoding="utf-8") == pages[name], (
      f"expected what {command} writes"
    )


def test_every_command_is_on_the_first_page():
  first, *others = reference().values()
  assert all(f"[`{name}`]" in first and len(first) < 20_000 for name in COMMANDS)
  assert max(map(len, others)) < 25_000


def section(written, name):
  return written.partition(f"\n## `{name}`\n")[2].partition("\n## ")[0].partition("\n# ")[0]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_of_the_help_is_there_and_no_other(name, written, capsys):
  with pytest.raises(SystemExit):
    main([*name.split(), "--help"])
  options = r"(?<![\w-])--[a-z][\w.-]*"
  listed = set(re.findall(rf"^[│ ] (?:-h, )?({options})", capsys.readouterr().out, re.MULTILINE))
  rows = re.findall(rf"^\| `({options})", section(written, name), re.MULTILINE)
  assert len(rows) == len(set(rows))
  assert set(rows) == listed - {"--help"}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_argument_says_what_it_is(name, written):
  rows = re.findall(r"^\| (`.*`) \| (.*) \| .* \|$", section(written, name), re.MULTILINE)
  assert rows
  assert all(meaning.endswith(".") or "`." in meaning for _, meaning in rows), rows


@pytest.mark.parametrize(
  "row",
  [
    "| `--dtype float32\\|bfloat16\\|float16` | Type of the numbers on disk. | `float32` |",
    "| `--seeds TEXT` | First and last seed, or a list: 1..5 or 1,3,12. | `1..5` |",
    "| `--span INT INT` | First character of an entity and the one after its last, as often as"
    " needed. |  |",
    "| `--lite` | Keeps the special entities only. |  |",
    "| `--workers INT` | Processes of the local engine. | `1` |",
    "| `SOURCE` | Directory or archive to read. | needed |",
  ],
)
def test_rows(row, written):
  assert row in written.splitlines()
