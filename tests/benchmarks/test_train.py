"""Both sides of `python -m benchmarks train` take the same steps; what it refuses."""

import dataclasses
import json
from importlib.util import find_spec

import pytest

from benchmarks import sides, train
from benchmarks.__main__ import main
from benchmarks.encoder import BatchSizes
from benchmarks.train import steps_of
from luke_jax.models.system import System
from luke_jax.models.table import SIZES
from luke_jax.nn.layers import Dtype
from luke_jax.systems.bert.config import BertConfig

WITHOUT = dict.fromkeys(("hidden_dropout_prob", "attention_probs_dropout_prob"), 0.0)
SMALL = BertConfig(99, 16, 2, 2, 32, 32, **WITHOUT)
SMALL_LUKE = dataclasses.replace(SIZES["tiny"], **WITHOUT)
CASES = ((SMALL, BatchSizes(4, 16)), (SMALL_LUKE, BatchSizes(2, 16, 3)))
NEEDS_PEFT = pytest.mark.skipif(not find_spec("peft"), reason="needs peft")


def test_steps_have_the_settings_of_a_training():
  experiment = steps_of(SIZES["minilm"], BatchSizes(16, 64), "optimizer.adapter=16")
  options, task = experiment.optimizer, experiment.task
  assert options.kind == "adamw" and options.bias_correction and options.max_gradient_norm == 1
  assert options.adapter == 16 and experiment.data.batch_size == 16
  assert task.engine().row_shapes(experiment.backbone)["input_ids"].shape == (64,)


@pytest.mark.parametrize(
  ("options", "said"),
  [
    (["--size", "huge"], "huge: unknown size; expected one of"),
    (["--batch", "2x8+1"], "batch: '2x8+1'; expected TEXTSxWORDS, such as 4x128"),
    (["--size", "luke-base", "--batch", "2x8"], "batch: '2x8'; expected TEXTSxWORDS+ENTITIES"),
    (["--batch", "1x513"], "batch: 1x513; expected at most 512 words"),
  ],
)
def test_what_cannot_be_timed(options, said, capsys):
  assert main(["train", *options]) == 2
  assert capsys.readouterr().err.startswith(f"luke-jax: {said}")


@pytest.mark.parity
@pytest.mark.parametrize("rank", [0, pytest.param(2, marks=NEEDS_PEFT)])
@pytest.mark.parametrize(("config", "batch"), CASES, ids=["bert", "luke"])
def test_both_sides_have_the_same_losses(config: System, batch: BatchSizes, rank: int):
  from benchmarks.train import OurStep, TheirStep

  options = (f"optimizer.adapter={rank}", "optimizer.learning_rate=0.01")
  ours = OurStep(steps_of(config, batch, *options), batch)
  theirs = TheirStep(ours)
  losses = [(ours.step(), theirs.step()) for _ in range(4)]
  assert losses[0][0] - losses[-1][0] > 0.05
  for one, other in losses:
    assert one == pytest.approx(other, abs=1e-4)


@pytest.mark.parity
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_run(dtype: Dtype, tmp_path, capsys, monkeypatch):
  monkeypatch.setitem(sides.PRODUCT, "cpu", 64)
  monkeypatch.setattr(train, "NUMBERS", 64)
  monkeypatch.setattr(train, "find_spec", lambda name: None)
  out = tmp_path / "out.json"
  options = ["--size", "tiny", "--batch", "2x16+1", "--dtype", dtype, "--rounds", "1"]
  assert main(["train", *options, "--output", str(out)]) == 0
  (step,) = json.loads(out.read_text())["steps"]  # none of adapters
  assert step["flops"] > 0 and step["trained"] > 0 and step["timing"]["processor"]["theirs"][0] > 0
  printed = capsys.readouterr()
  assert json.loads(printed.out.splitlines()[-1])["ratios"].keys() == {"2x16+1 all parameters"}
  assert "adapters are left out: peft is not installed" in printed.err
