"""Steps run in their order, once, and none is left alone."""

import contextlib
import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from rich.console import Console

from luke_jax import __version__
from luke_jax.errors import InputError
from luke_jax.runs import steps as running
from luke_jax.runs.steps import Child, Screen, Status, Step, last_line, run

ROOT = Path(__file__).parents[2]
VERSION = ("--version",)


def shown(_):
  pass


def finished_order(states):
  return list(dict.fromkeys(name for state in states for name in state))


def test_steps_wait_for_what_they_need(tmp_path):
  todo = [Step("b", "b", VERSION, ("a",)), Step("a", "a", VERSION), Step("c", "c", VERSION, ("b",))]
  states = []
  seconds = run(todo, tmp_path, lambda state: states.append(list(state.done)))
  assert finished_order(states) == ["a", "b", "c"] == list(seconds)
  assert last_line(tmp_path / "logs/c.txt") == __version__


def test_what_is_done_stays_done_until_its_command_changes(tmp_path):
  todo = [Step("a", "a", VERSION), Step("b", "b", VERSION, ("a",))]
  first = run(todo, tmp_path, shown)
  (tmp_path / "logs/a.txt").unlink()
  assert run(todo, tmp_path, shown) == first
  assert not (tmp_path / "logs/a.txt").exists()
  changed = [todo[0]._replace(arguments=("--help",)), todo[1]]
  (tmp_path / "logs/b.txt").unlink()
  run(changed, tmp_path, shown)
  assert "usage" in (tmp_path / "logs/a.txt").read_text()
  assert (tmp_path / "logs/b.txt").exists()  # it needs the other, which was made anew


def test_what_another_version_made_is_not_taken_for_new(tmp_path):
  """And what no step of the demo made stays."""
  before = [Step("a", "a", VERSION, (), "run"), Step("b", "b", VERSION, ("a",), "of-run")]
  run(before, tmp_path, shown)
  for name in ("run", "of-run", "mine"):
    (tmp_path / name).mkdir()
    (tmp_path / name / "result.json").write_text("{}")
  run(before, tmp_path, shown)
  assert (tmp_path / "run/result.json").exists()
  after = [before[0]._replace(arguments=("--help",)), before[1]]
  run([*after, Step("c", "c", VERSION, (), "mine")], tmp_path, shown)
  assert not (tmp_path / "run").exists() and not (tmp_path / "of-run").exists()
  assert (tmp_path / "mine/result.json").exists()


@pytest.mark.parametrize(("there", "each"), [(1, [1]), (2, [1, 1]), (7, [2, 2, 2, 1])])
def test_steps_share_the_cores(monkeypatch, there, each):
  monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(3, 3 + there)), raising=False)
  monkeypatch.setattr(os, "sched_setaffinity", None, raising=False)
  found = running.shares()
  assert [len(cores) for cores in found] == each
  assert frozenset().union(*found) == set(range(3, 3 + there))


def test_where_cores_cannot_be_kept_two_steps_run_at_once(monkeypatch):
  monkeypatch.delattr(os, "sched_setaffinity", raising=False)
  assert running.shares() == [frozenset()] * 2


@pytest.fixture
def waits(monkeypatch):
  """A step whose process does nothing for a moment."""
  started = subprocess.Popen
  monkeypatch.setattr(
    running.subprocess, "Popen", lambda _, **options: started(["sleep", "0.5"], **options)
  )
  return Step("a", "a", VERSION)


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="cores cannot be kept here")
def test_a_step_runs_on_its_own_cores(tmp_path, waits):
  seen = []

  def show(state):
    for child in state.running.values():
      with contextlib.suppress(ProcessLookupError):
        seen.append(os.sched_getaffinity(child.process.pid) == child.cores)

  run([waits], tmp_path, show)
  assert seen and all(seen)


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="cores cannot be kept here")
def test_a_long_step_runs_on_all_cores(tmp_path, waits):
  seen = set()

  def show(state):
    for child in state.running.values():
      with contextlib.suppress(ProcessLookupError):
        seen.add(frozenset(os.sched_getaffinity(child.process.pid)))

  run([waits._replace(long=True)], tmp_path, show)
  assert seen == {frozenset(os.sched_getaffinity(0))}


def test_a_step_that_fails_is_one_line_and_what_was_done_stays(tmp_path):
  todo = [Step("a", "a", VERSION), Step("b", "b", ("get", "nowhere"), ("a",))]
  with pytest.raises(InputError, match="luke-jax get nowhere: status 2, 'luke-jax: nowhere"):
    run(todo, tmp_path, shown)
  assert list(running._done(todo, tmp_path)) == ["a"]


STOPPED = """
import sys, time
from pathlib import Path
from luke_jax.runs import steps as running
from luke_jax.runs.steps import Step
waits = ("predict", "ner", "-", "-")
running.subprocess.Popen = lambda command, real=running.subprocess.Popen, **options: real(
  [sys.executable, "-c", "import time; time.sleep(60)"], **options
)
def show(state):
  Path(sys.argv[1], "pid").write_text(str(state.running["a"].process.pid))
running.run([Step("a", "a", waits)], Path(sys.argv[1]), show)
"""


def test_sigterm_stops_the_steps_too(tmp_path):
  child = subprocess.Popen([sys.executable, "-c", STOPPED, str(tmp_path)], stderr=subprocess.PIPE)
  while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
    time.sleep(0.05)
  child.send_signal(signal.SIGTERM)
  assert b"KeyboardInterrupt" in child.communicate(timeout=20)[1]
  with pytest.raises(ProcessLookupError):
    os.kill(int((tmp_path / "pid").read_text()), 0)


STEPS = [Step("a", "make records", ()), Step("b", "train", ()), Step("c", "look", ())]


@pytest.fixture
def state(tmp_path):
  log = tmp_path / "b.txt"
  log.write_text("step 10/40: loss 3.2, 900 tokens/s\nstep 20/40: loss 2.5, 950 tokens/s\n\n")
  return Status(STEPS, {"a": 3.4}, {"b": Child(None, log, time.monotonic())})


def test_on_a_terminal_every_step_has_a_line_and_a_running_one_a_bar(state):
  console = Console(file=io.StringIO(), force_terminal=True, width=100, height=30)
  with Screen(console) as screen:
    screen.show(state)
  shown = console.file.getvalue()
  assert "make records" in shown and "3 s" in shown
  assert "loss 2.5" in shown and "━" in shown
  assert "1 of 3 steps" in shown


def test_little_room_is_taken_from_what_a_step_says_of_itself(state):
  console = Console(file=io.StringIO(), force_terminal=True, width=44, height=30)
  with Screen(console) as screen:
    screen.show(state)
  shown = console.file.getvalue()
  assert "✓" in shown and "make records" in shown and "3 s" in shown and "0 s" in shown
  assert "━" in shown and "lo" in shown and "tokens" not in shown


def test_elsewhere_each_finished_step_is_told_once(state):
  console = Console(file=io.StringIO(), force_terminal=False)
  with Screen(console) as screen:
    screen.show(state)
    screen.show(state)
  assert console.file.getvalue() == "[1/3] make records: 3 s\n"
