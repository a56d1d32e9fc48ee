"""Runs that go on from the whole state of another one, with another length and schedule."""

import dataclasses

import jax
import numpy as np
import pytest
from shared_programs import SharedProgram
from tiny_runs import experiment, left_at, logged, same

from luke_jax.errors import InputError
from luke_jax.training import loop as loops
from luke_jax.training.export import read_run
from luke_jax.training.loop import train


def stable(steps, **run):
  """A run of so many steps that decays in the last three."""
  return experiment(
    model={"num_hidden_layers": 1},
    schedule={"decay": "wsd", "warmup_steps": 2, "decay_steps": 3},
    run={"steps": steps, "save_every": 2, "keep": 9, "log_every": 1, **run},
  )


pytestmark = pytest.mark.usefixtures("one_device")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
  """A run of 20 steps that was left at its fifth, with checkpoints of steps 2, 4 and 5."""
  folder = tmp_path_factory.mktemp("branches") / "run"
  with pytest.MonkeyPatch.context() as patch:
    make_mesh = loops.make_mesh
    patch.setattr(loops, "make_mesh", lambda shape: make_mesh(shape, jax.devices()[:1]))
    patch.setattr(loops, "Program", SharedProgram)
    patch.setattr(loops.Watch, "due", left_at(5))
    train(stable(20), folder)
  return folder


def test_a_branch_is_the_run_that_was_planned_so(folder, tmp_path, monkeypatch):
  """To the bit, where it is left and goes on too; and the first run stays as it was."""
  train(stable(8), tmp_path / "planned")
  branched = stable(8, branch=str(folder / "checkpoints" / "4"))
  with monkeypatch.context() as patch:
    patch.setattr(loops.Watch, "due", left_at(6))
    assert train(branched, tmp_path / "branch")["step"] == 6
  assert train(branched, tmp_path / "branch")["step"] == 8
  assert same(read_run(tmp_path / "planned")[2], read_run(tmp_path / "branch")[2])
  lines = {line["step"]: line["learning_rate"] for line in logged(tmp_path / "branch")[:-1]}
  assert list(lines) == [5, 6, 7, 8]
  expected = [1, 1, 1 - (1 / 3) ** 0.5, 1 - (2 / 3) ** 0.5]
  np.testing.assert_allclose(list(lines.values()), np.multiply(1e-3, expected), rtol=1e-5)
  assert sorted(int(x.name) for x in (folder / "checkpoints").iterdir()) == [2, 4, 5]


@pytest.mark.parametrize(
  ("changes", "line"),
  [
    ({"run": {"branch": "nowhere"}}, "run.branch: 'nowhere'; expected FOLDER/checkpoints/STEP of"),
    (
      {"run": {"branch": "nowhere/3/4"}},
      "nowhere: not the folder of a run; expected what luke-jax",
    ),
    ({"run": {"minutes": 5}}, "run.branch: .*/checkpoints/4'; expected .*, and run.minutes null"),
    ({"run": {"steps": 4}}, "run.branch: .*/checkpoints/4'; expected .*, a step below 4, and"),
    ({"run": {"seed": 1}}, r"is another run \(run.seed: 0 there, 1 here\); expected the same"),
    ({"optimizer": {"kind": "muon"}}, r'is another run \(optimizer.kind: "adamw" there, "muon"'),
    (
      {"schedule": {"decay_steps": 7}},
      r"update 2 had the rate 0.001, and has 0.000[0-9]+; expected",
    ),
    ({"schedule": {"decay": "linear"}}, r"update 3 had the rate .* expected schedule.decay=wsd"),
    ({"schedule": {"warmup_steps": 3}}, "update 1 had the rate 0.0005, and has 0.000333; expected"),
  ],
)
def test_a_branch_that_would_be_another_run_is_refused(folder, tmp_path, changes, line):
  chosen = stable(8, branch=str(folder / "checkpoints" / "4"))
  groups = {k: dataclasses.replace(getattr(chosen, k), **x) for k, x in changes.items()}
  with pytest.raises(InputError, match=line):
    train(dataclasses.replace(chosen, **groups), tmp_path / "run")


def test_other_data_and_checkpoints_that_are_gone_are_refused(folder, tmp_path):
  with pytest.raises(InputError, match=r"the data changed since the run began: a.jsonl: none"):
    train(stable(8, branch=str(folder / "checkpoints" / "4")), tmp_path, data={"a.jsonl": "1"})
  with pytest.raises(InputError, match=r"no checkpoint of step 3; there are \[2, 4, 5\]"):
    train(stable(8, branch=str(folder / "checkpoints" / "3")), tmp_path / "b")
