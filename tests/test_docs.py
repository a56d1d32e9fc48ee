"""Every example in README and docs runs as it stands, in a folder where `luke-base` is a model."""

import re
from importlib.util import find_spec
from pathlib import Path

import pytest
from tiny import tiny_model

from luke_jax.cli import main

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES)
def test_examples(page, tmp_path, monkeypatch):
  monkeypatch.chdir(tmp_path)
  tiny_model().save("luke-base")
  names: dict = {}
  ran = 0
  for language, code in BLOCK.findall(page.read_text(encoding="utf-8")):
    if language == "python":
      exec(compile(code, str(page), "exec"), names)
      ran += 1
    elif language == "bash":
      ran += run_commands(code)
  assert ran


def run_commands(code):
  commands = [line.split("#")[0].split() for line in code.splitlines()]
  ours = [words[1:] for words in commands if words[:1] == ["luke-jax"]]
  for arguments in ours:
    if arguments[0] == "parity" and not find_spec("torch"):
      continue
    assert main([word.strip("'") for word in arguments]) == 0
  return len(ours)


def test_every_command_in_the_readme_exists():
  readme = PAGES[0].read_text(encoding="utf-8")
  for names in set(re.findall(r"^make (\w+)|`make (\w+)`", readme, re.MULTILINE)):
    assert f"\n{''.join(names)}:" in (ROOT / "Makefile").read_text(encoding="utf-8")
