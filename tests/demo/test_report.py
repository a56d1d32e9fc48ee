"""The parts of the demo's page that depend on the machine. `make demo` makes all of it."""

import shlex

from luke_jax.demo import report
from luke_jax.demo.steps import REPOSITORY, steps
from luke_jax.training.metrics import summary_line

PLAN = {"chips": 256, "gib_per_chip": 9.04, "step_seconds": 0.1512, "steps": 200_000, "hours": 8.4}


def test_the_plan_is_told_in_plain_figures(tmp_path):
  (tmp_path / "logs").mkdir()
  (tmp_path / "logs" / "plan.txt").write_text(f"memory ...\n{summary_line(PLAN)}\n")
  _, table = report._tpu(tmp_path, planned=True)
  for figure in ("9.0 GiB", "151 ms", "200,000", "8 hours"):
    assert figure in table.body


def test_without_libtpu_the_page_says_how_to_get_it(tmp_path):
  (told,) = report._tpu(tmp_path, planned=False)
  assert "libtpu is missing" in told and "-m pip install" in told and "tpu]" in told


def test_commands_on_lines_are_the_same_commands():
  for step in steps(REPOSITORY / "demo"):
    lines = report._on_lines(step.command)
    assert max(map(len, lines.splitlines())) < 90
    assert shlex.split(lines.replace("\\\n", "")) == ["luke-jax", *step.arguments]
    assert str(REPOSITORY) not in lines
