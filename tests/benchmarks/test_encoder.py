"""What `python -m benchmarks encoder` times, and what it refuses."""

import json

import pytest

from benchmarks import sides
from benchmarks.__main__ import main
from benchmarks.encoder import BatchSizes, batches


def test_batches_are_texts_words_and_entities():
  assert batches("1x64+8, 4x128+32") == [BatchSizes(1, 64, 8), BatchSizes(4, 128, 32)]


@pytest.mark.parametrize("text", ["", "64+8", "1x64", "0x64+8", "1x64+8,", "1x64+8;2x4+1", "ax1+1"])
def test_what_is_no_batch(text, capsys):
  assert main(["encoder", "--batch", text]) == 2
  said = capsys.readouterr().err
  assert "expected TEXTSxWORDS+ENTITIES, such as 4x128+32" in said and said.count("\n") == 1


@pytest.mark.parity
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_run(dtype, tmp_path, capsys, monkeypatch):
  monkeypatch.setitem(sides.PRODUCT, "cpu", 64)
  out = tmp_path / "out.json"
  options = ["--size", "tiny", "--batch", "1x16+2,2x8+1", "--dtype", dtype, "--rounds", "1"]
  assert main(["encoder", *options, "--output", str(out)]) == 0
  figures = json.loads(out.read_text())
  timed = [(x["batch"]["words"], x["name"]) for x in figures["passes"]]
  assert timed == [(w, name) for name in ("with backward", "forward") for w in (16, 8)]
  assert all(x["flops"] > 0 and x["timing"]["ours"][0] > 0 for x in figures["passes"])
  assert json.loads(capsys.readouterr().out.splitlines()[-1])["ratios"].keys() == {
    f"{batch} {name}" for batch in ("1x16+2", "2x8+1") for name in ("forward", timed[0][1])
  }
