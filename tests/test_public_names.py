"""What a release promised is there, or the changelog says what to do instead."""

import re
from pathlib import Path

import pytest
from packaging.version import Version
from public_names import public_names

import luke_jax
from luke_jax.cli import MOVED

ROOT = Path(__file__).parent.parent
GOLDENS = ROOT / "tests/goldens"
RELEASES = sorted(GOLDENS.glob("*.*.*.txt"))
CODE = re.compile("`([^`]+)`")


def members(lines):
  """Lines such as `luke_jax.train: experiment folder set`."""
  return {name: set(rest.split()) for name, rest in (line.split(":", 1) for line in lines)}


@pytest.fixture(scope="module")
def now():
  return members(public_names())


@pytest.mark.parametrize("release", RELEASES, ids=lambda path: path.stem)
def test_what_a_release_promised_is_there_or_in_the_changelog(release, now):
  changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
  since, heading, _ = changelog.partition(f"\n## [{release.stem}] ")
  assert heading
  told = {word for code in CODE.findall(since) for word in re.findall(r"[\w./-]+", code)}
  for name, promised in members(release.read_text(encoding="utf-8").splitlines()).items():
    gone = promised - now[name] if name in now else {re.split(r"[. ]", name)[-1]}
    missing = gone - told
    assert not missing, f"{name}: {missing}: gone since {release.stem}, not in CHANGELOG.md"


def test_the_release_has_left_behind_what_later_ones_are_tested_with():
  for kind in ("tar.xz", "txt"):
    assert (GOLDENS / f"{luke_jax.__version__}.{kind}").is_file(), "see docs/releasing.md"


def test_former_commands_go_when_it_was_said():
  page = (ROOT / "docs/stability.md").read_text(encoding="utf-8")
  until = re.search(r":MOVED`; its lines stay until (\d+\.\d+)\.", page)[1]
  code = (ROOT / "luke_jax/cli/__init__.py").read_text(encoding="utf-8")
  assert f"a line says so until {until}.\nMOVED = {{" in code
  assert not MOVED or Version(luke_jax.__version__) < Version(until), f"MOVED goes in {until}"
