import os
import signal
import subprocess
import sys

import pytest

from luke_jax.cli import COMMANDS, process
from luke_jax.cli.process import ASKED, COMPUTING, HUGE_PAGES, waits_to_be_asked

STARTS = """
import os, sys
print(os.environ.get("GLIBC_TUNABLES"), sys.argv[1:], flush=True)
from luke_jax.cli import process
if process.computes(sys.argv[1:]):
  process.ask_for_huge_pages()
"""


def starts(*arguments, **environment):
  """Returns what a process says at each of its starts."""
  rest = {name: x for name, x in os.environ.items() if name != ASKED}
  command = [sys.executable, "-c", STARTS, *arguments]
  run = subprocess.run(command, env=rest | environment, capture_output=True, text=True, check=True)
  return run.stdout.splitlines()


@pytest.mark.skipif(not waits_to_be_asked(), reason="this Linux gives huge pages to all or to none")
@pytest.mark.parametrize("arguments", [["train", "ner", "a b"], ["experiment", "run", "x.py"]])
def test_a_command_that_computes_starts_again_once_with_the_same_words(arguments):
  assert starts(*arguments) == [f"None {arguments}", f"{HUGE_PAGES} {arguments}"]


@pytest.mark.parametrize(
  "arguments", [[], ["score", "ner"], ["experiment"], ["experiment", "table"]]
)
def test_other_commands_start_once(arguments):
  assert starts(*arguments) == [f"None {arguments}"]


def test_signals_wait_while_a_command_starts_again(monkeypatch):
  blocked = []

  def execv(*_):
    blocked.append(signal.pthread_sigmask(signal.SIG_BLOCK, ()))
    raise OSError

  monkeypatch.setattr(os, "execv", execv)
  monkeypatch.setattr(os, "environ", {})
  monkeypatch.setattr(process, "waits_to_be_asked", lambda: True)
  process.ask_for_huge_pages()
  assert blocked[0] >= set(process.HANDLED)
  assert not signal.pthread_sigmask(signal.SIG_BLOCK, ()) & set(process.HANDLED)


def test_settings_of_the_user_stay():
  assert starts("train", **{ASKED: "glibc.malloc.check=1"}) == ["glibc.malloc.check=1 ['train']"]


def test_the_names_are_those_of_commands():
  assert set(COMMANDS) >= COMPUTING


@pytest.mark.parametrize(
  ("mode", "expected"),
  [("always [madvise] never", True), ("[always] madvise never", False), (None, False)],
)
def test_linux_says_whether_it_waits(tmp_path, mode, expected):
  path = tmp_path / "enabled"
  if mode:
    path.write_text(f"{mode}\n")
  assert waits_to_be_asked(path) == expected
