import json
from pathlib import Path

import pytest
from plan.texts import COLLECTIVES

from luke_jax.cli import main
from luke_jax.cli.plan import PlannedStep
from luke_jax.plan.chips import GIB, parse_topology
from luke_jax.plan.compiling import Compiled, Memory, OutOfMemory
from luke_jax.plan.hlo import parse

QA = Path(__file__).parents[2] / "experiments/qa.py:luke-large"
EXPERIMENT = """
from luke_jax.models.table import SIZES
from luke_jax.models.system import Running
from luke_jax.pipeline.batches import Data
from luke_jax.tasks.synthetic import SyntheticPretraining
from luke_jax.training.experiment import Experiment, Run


def config():
  return Experiment(
    model=SIZES["tiny"],
    running=Running(remat="dots"),
    task=SyntheticPretraining(pages=320, words=64, entities=16, mention=4),
    data=Data(batch_size=32, evaluation_batch_size=32),
    run=Run(epochs=3, accumulation=2),
  )
"""


@pytest.fixture
def file(tmp_path):
  path = tmp_path / "experiment.py"
  path.write_text(EXPERIMENT)
  return path


@pytest.fixture
def tries(monkeypatch):
  """A compiler for which a step needs 1 GiB and 3 GiB more for every sequence of a chip."""
  batches = []

  def compiler(topology, lower, file, assignments, *_):
    batch = int(dict(x.split("=") for x in assignments).get("data.batch_size", 32))
    batches.append(batch)
    needed = (1 + 3 * batch // 2 // topology.devices) * GIB
    available = int(15.75 * GIB)
    if needed > available:
      return OutOfMemory(needed, available, GIB)
    return Compiled(parse(COLLECTIVES), Memory(GIB, 0, 0, needed - GIB, 0), 1.0)

  monkeypatch.setattr("luke_jax.cli.plan.compile_in_child", compiler)
  return batches


def plan(file, *arguments):
  return main(["plan", str(file), *map(str, arguments)])


def test_report_and_json(file, tries, tmp_path, capsys):
  target = tmp_path / "plan.json"
  assert plan(file, "--topology", "v5e:2x4", "--json", target) == 0
  shown = capsys.readouterr().out
  assert "v5e:2x4: 8 chips" in " ".join(shown.split())
  summary = json.loads(shown.splitlines()[-1])
  assert (summary["chips"], summary["steps"], summary["gib_per_chip"]) == (8, 30, 7)
  figures = json.loads(target.read_text())
  assert figures["experiment"] == str(file)
  assert figures["steps"] == 30
  assert figures["bytes_per_device"]["total"] == 7 * GIB
  assert figures["flops_per_step"] > 0


def test_out_of_memory_is_one_line(file, tries, tmp_path, capsys):
  target = tmp_path / "plan.json"
  changes = ("--set", "data.batch_size=96")
  assert plan(file, "--topology", "v5e:2x4", *changes, "--json", target) == 1
  line = capsys.readouterr().out
  assert line.startswith("memory: a step needs 19.00 GiB on each chip of v5e:2x4, 1.00 of them")
  assert line.endswith("set remat to full, or take a smaller batch\n")
  assert line.count("\n") == 1
  assert not target.exists()


def test_fit(file, tries, tmp_path, capsys):
  target = tmp_path / "plan.json"
  assert plan(file, "--topology", "v5e:2x4", "--fit", "--json", target) == 0
  shown = capsys.readouterr().out
  assert tries == [32, 64, 128, 80]
  assert "2 sequences a chip fit: 7.00 GiB" in shown
  assert "8 sequences a chip do not fit: 25.00 GiB" in shown
  assert "the largest: 4 a chip, data.batch_size=64" in shown
  figures = json.loads(target.read_text())
  assert figures["bytes_per_device"]["total"] == 13 * GIB
  assert figures["steps"] == 15


def test_not_one_sequence_fits(file, tries, monkeypatch, capsys):
  fault = OutOfMemory(20 * GIB, 16 * GIB, 18 * GIB)
  monkeypatch.setattr("luke_jax.cli.plan.compile_in_child", lambda *_: fault)
  assert plan(file, "--topology", "v5e:2x4", "--fit") == 1
  assert "take more chips" in capsys.readouterr().out


@pytest.mark.parametrize(
  ("arguments", "line"),
  [
    (["--topology", "v9:2x2"], "topology: 'v9:2x2'; expected one of v5e"),
    (["--topology", "v5e:2x4", "--json", "/nowhere/plan.json"], "no folder /nowhere"),
    (["--topology", "v5e:2x4", "--set", "run.stepz=3"], "perhaps run.steps"),
  ],
)
def test_faults_are_one_line(file, tries, arguments, line, capsys):
  assert plan(file, *arguments) == 2
  said = capsys.readouterr().err
  assert line in said
  assert said.count("\n") == 1
  assert not tries


def test_it_plans_what_train_would_run():
  """Without entities an experiment loses what only they have, whoever reads it."""
  step = PlannedStep(QA, ("model.entity_vocab_size=0",), parse_topology("v5e:2x4"))
  assert not step.experiment.model.use_entity_aware_attention


@pytest.mark.tpu_aot
def test_a_real_one(file, tmp_path, capsys):
  pytest.importorskip("libtpu", reason="compiling for a TPU needs the extra `tpu`")
  target = tmp_path / "plan.json"
  assert plan(file, "--topology", "v5e:2x4", "--json", target) == 0
  figures = json.loads(target.read_text())
  assert figures["step_seconds"] > 0
  assert figures["collectives"]
  assert figures["bytes_per_device"]["arguments"] > 0
