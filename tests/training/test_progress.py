"""What a person sees of a run."""

import contextlib
import io
import sys
import types

import jax
import pytest
from rich.console import Console

from luke_jax.training.progress import CACHE_HIT, Progress, Shown, Trace, _duration


def shown(lives, *, enabled=True, times=(0.0, 50.0)):
  """What a run of 300 steps, started at 100, prints."""
  out = io.StringIO()
  console = Console(file=out, force_terminal=lives, width=120, _environ={"TERM": "xterm"})
  clock = iter(times).__next__
  with Progress(300, 100, enabled=enabled, console=console, clock=clock) as progress:
    for number in (0, 1):
      progress.compiling(number, 2)
      jax.monitoring.record_event(CACHE_HIT)
    progress.compiled(2, 3.2)
    progress.update(110, Shown(2.34567, 1e-5, 12345.6, 0.031))
    progress.note("saved checkpoint 110 [see /a/b]")
    progress.update(120, Shown(float("nan"), 1e-5, 12345.6, 0.031, 0.214, "f1", 0.5))
  return out.getvalue()


def test_lines_where_there_is_no_terminal():
  assert shown(lives=False).splitlines() == [
    "step 100/300: compiling, 0 of 2 programs done",
    "2 programs compiled in 3 s, 2 of them kept from before",
    "step 110/300: loss 2.346, 12,346 tokens/s, learning rate 1e-05, waiting for data 3%",
    "saved checkpoint 110 [see /a/b]",
    "step 120/300: 15 min left, loss nan, f1 0.5, 12,346 tokens/s, padding 21%,"
    " learning rate 1e-05, waiting for data 3%",
  ]


def test_the_time_left_is_a_guess_until_ten_steps_have_passed():
  out, clock = io.StringIO(), iter((0.0, 5.0, 50.0)).__next__
  with Progress(300, 0, console=Console(file=out, width=120), clock=clock) as progress:
    for step in (0, 9, 10):
      progress.update(step, Shown(1.0, 0.1, 1.0, 0.0))
  first, second, third = out.getvalue().splitlines()
  assert "left" not in first and ": perhaps 3 min left" in second and ": 25 min left" in third


def test_one_line_that_is_rewritten_on_a_terminal():
  out = shown(lives=True)
  assert "saved checkpoint 110 [see /a/b]\n" in out.replace("\r", "")
  assert "compiling, 1 of 2 programs done, 1 of them kept from before" in out
  assert out.count("\x1b[2K") >= 3  # the line is erased before every rewriting
  assert "step 120/300: 15 min left" in out
  for line in out.splitlines():
    assert line.count("step 1") <= 1 or "\r" in line


def test_a_narrow_terminal_gets_one_line():
  out = io.StringIO()
  console = Console(file=out, force_terminal=True, width=30, _environ={"TERM": "xterm"})
  with Progress(300, 0, console=console) as progress:
    progress.update(1, Shown(1.0, 0.1, 1.0, 0.0))
  assert "…" in out.getvalue()
  assert "waiting" not in out.getvalue()


def test_a_terminal_of_80_columns_shows_what_one_waits_for():
  out = io.StringIO()
  console = Console(file=out, force_terminal=True, width=80, _environ={"TERM": "xterm"})
  clock = iter((0.0, 50.0)).__next__
  with Progress(300, 0, console=console, clock=clock) as progress:
    for step in (10, 20):
      progress.update(step, Shown(2.34567, 1e-5, 12345.6, 0.0, 0.21, "f1", 0.65))
  line = "step 20/300: 24 min left, loss 2.346, f1 0.65, 12,346 tokens/s, padding 21%"
  assert line in out.getvalue()


def test_a_notebook_has_one_bar(monkeypatch):
  cells = []
  handle = types.SimpleNamespace(update=cells.append)
  shown = types.SimpleNamespace(HTML=str, display=lambda *_, display_id: handle)
  monkeypatch.setitem(sys.modules, "IPython.display", shown)
  monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(display=shown))
  console = Console(file=io.StringIO(), force_jupyter=True)
  with Progress(300, 0, console=console) as progress:
    progress.compiling(1, 2)
    progress.update(20, Shown(2.34567, 1e-5, 12345.6, 0.0))
  assert "compiling, 1 of 2" in cells[0] and '<progress value="0" max="300">' in cells[0]
  assert '<progress value="20" max="300"></progress> <code>step 20/300: loss' in cells[1]


@pytest.mark.parametrize("lives", [True, False])
def test_other_processes_are_silent(lives):
  assert not shown(lives, enabled=False)


@pytest.mark.parametrize(
  ("seconds", "text"),
  [
    (0, "0 s"),
    (58.2, "59 s"),
    (61, "2 min"),
    (3600, "1 h 00 min"),
    (7 * 3600 + 60, "7 h 01 min"),
    (60 * 3600, "2 d 12 h"),
  ],
)
def test_durations(seconds, text):
  assert _duration(seconds) == text


def test_a_trace_waits_for_the_steps_that_devices_still_take(monkeypatch, tmp_path):
  seen = []

  @contextlib.contextmanager
  def trace(_):
    seen.append("begun")
    yield
    seen.append("ended")

  monkeypatch.setattr("jax.profiler.trace", trace)
  monkeypatch.setattr("jax.block_until_ready", seen.append)
  with Trace(tmp_path, 0, 2) as steps:
    for step in range(8):
      steps.at(step, step)
  assert seen == [3, "begun", 5, "ended"]
