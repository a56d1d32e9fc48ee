"""What `python -m benchmarks step` times, and what it makes of that."""

import dataclasses
import json

import jax
import pytest

from benchmarks import sides
from benchmarks import step as bench_step
from benchmarks.__main__ import main
from benchmarks.step import StepTimes
from luke_jax.files import Path
from luke_jax.plan.plan import flops_of
from luke_jax.training.experiment_files import load_experiment
from luke_jax.training.mesh import make_mesh

FILE = "experiments/synthetic.py:tiny"
SMALL = {
  "model.num_hidden_layers": 1,
  "task.pages": 64,
  "task.words": 16,
  "task.entities": 4,
  "data.batch_size": 8,
}


def test_shares_are_those_of_one_device():
  result = StepTimes(
    machine="",
    versions={},
    dtype="float32",
    devices=2,
    sequences=1,
    tokens=1,
    flops=80.0,
    compiling=0.0,
    step=[3.0, 4.0, 9.0],
    product=[1.0, 2.0, 2.0],
    product_flops=100.0,
    peak_bytes=None,
  )
  assert result.flops_per_second == 10.0
  assert result.of_product == pytest.approx(10 / 50)


def test_what_does_not_train_costs_less():
  experiment = load_experiment(Path(FILE))
  still = dataclasses.replace(experiment.optimizer, frozen=("luke/encoder",))
  frozen = flops_of(dataclasses.replace(experiment, optimizer=still))
  assert 0 < frozen < flops_of(experiment)


@pytest.mark.slow
def test_a_run(tmp_path, capsys, monkeypatch):
  monkeypatch.setattr(bench_step, "make_mesh", lambda shape: make_mesh(shape, jax.devices()[:1]))
  monkeypatch.setattr(sides, "PRODUCT", {"cpu": 64})
  out = tmp_path / "out.json"
  changes = [part for name, value in SMALL.items() for part in ("--set", f"{name}={value}")]
  assert main(["step", FILE, *changes, "--steps", "1", "--output", str(out)]) == 0
  figures, line = json.loads(out.read_text()), json.loads(capsys.readouterr().out.splitlines()[-1])
  assert figures["sequences"] == 8 and figures["tokens"] == 8 * (16 + 4)
  assert len(figures["step"]) == len(figures["product"]) == 3
  assert line["step_ms"] > 0 and line["of_product"] > 0
  assert line["peak_gib"] is None  # XLA counts no bytes on a CPU


@pytest.mark.parametrize("option", ["steps", "rounds"])
def test_what_cannot_be_timed(option, capsys):
  assert main(["step", FILE, f"--{option}", "0"]) == 2
  said = capsys.readouterr().err.splitlines()
  assert said[-1] == f"luke-jax: {option}: 0; expected 1 or more"
