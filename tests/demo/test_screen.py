import io
import time

import pytest
from rich.console import Console

from luke_jax.demo.running import Child, Status
from luke_jax.demo.screen import Screen
from luke_jax.demo.steps import Step

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
