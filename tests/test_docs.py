"""Every example in README and docs runs as it stands, in a folder where `luke-base` is a model.

Blocks marked python run, or are written to the file that the mark names; of blocks marked bash our
own commands run, trainings for a few steps, but for what compiles for TPUs, which is only read.
Blocks marked sh need other machines.
"""

import re
import shlex
from importlib.util import find_spec
from pathlib import Path

import pytest
from tiny import tiny_model

from luke_jax.cli import COMMANDS, main, plan
from luke_jax.cli.arguments import bound
from luke_jax.tasks.names import CLASSES
from luke_jax.training.directory import FREE

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES)
def test_examples(page, tmp_path, monkeypatch):
  monkeypatch.chdir(tmp_path)
  for folder in ("experiments", "data"):
    (tmp_path / folder).symlink_to(ROOT / folder)
  tiny_model().save("luke-base")
  names: dict = {}
  ran = 0
  for language, file, code in BLOCK.findall(page.read_text(encoding="utf-8")):
    if file:
      Path(file).write_text(code, encoding="utf-8")
    elif language == "python":
      exec(compile(code, str(page), "exec"), names)
      ran += 1
    elif language == "bash":
      ran += run_commands(code)
  assert ran


def run_commands(code):
  lines = code.replace("\\\n", " ").splitlines()
  commands = [shlex.split(line, comments=True) for line in lines]
  ours = [words[1:] for words in commands if words[:1] == ["luke-jax"]]
  for arguments in ours:
    if arguments[0] == "parity" and not find_spec("torch"):
      continue
    if arguments[0] == "plan":
      assert Path(arguments[1]).is_file()
      bound(plan.run, "luke-jax plan", arguments[1:])
      continue
    if arguments[0] == "train" and arguments[1].startswith("experiments/"):
      arguments += ["--set", "run.steps=4"]
    if arguments[0] == "train" and arguments[1] in CLASSES:
      arguments += ["--set", "run.epochs=0.02", "--set", "run.evaluate_every=null"]
    assert main(arguments) == 0
  return len(ours)


def test_every_command_in_the_readme_exists():
  readme = PAGES[0].read_text(encoding="utf-8")
  for names in set(re.findall(r"^make (\w+)|`make (\w+)`", readme, re.MULTILINE)):
    assert f"\n{''.join(names)}:" in (ROOT / "Makefile").read_text(encoding="utf-8")
  listed = re.findall(r"^\| `luke-jax ([a-z -]+?)(?: [A-Z ]+)?` \|", readme, re.MULTILINE)
  assert sorted(listed) == sorted(COMMANDS)


def test_what_may_change_in_a_folder_is_listed():
  training = (ROOT / "docs" / "training.md").read_text(encoding="utf-8")
  listed = training[training.index("These may") : training.index("## Checkpoints")]
  assert set(re.findall("`(.+?)`", listed)) == set(FREE)


def test_links_lead_to_files():
  pages = [*PAGES, *ROOT.glob("*.md"), *ROOT.glob("experiments/**/*.md")]
  for page in pages:
    for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
      assert (page.parent / link).exists(), f"{page}: {link}"
