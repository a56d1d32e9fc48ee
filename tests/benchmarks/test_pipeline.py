"""`python -m benchmarks pipeline` on a toy corpus, and on instances with units."""

import json

import numpy as np
import pytest
from toy_corpus import MAX_WORDS, toy_records, write_corpus

from benchmarks.__main__ import main
from data.ernie_baidu.units import write_units
from luke_jax.files import Path as LukePath
from luke_jax.systems.ernie_baidu.units import UnitInstance


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
  return write_corpus(tmp_path_factory.mktemp("bench") / "corpus", toy_records(50))


def test_a_run(folder, tmp_path, capsys):
  options = ["--batch-size", 4, "--batches", 3, "--rounds", 2, "--step-ms", 5]
  out = ["--output", tmp_path / "out.json"]
  assert main(["pipeline", *map(str, [folder, *options, *out])]) == 0
  summary = json.loads(capsys.readouterr().out.splitlines()[-1])
  figures = json.loads((tmp_path / "out.json").read_text())
  assert summary == {name: figures[name] for name in summary}
  assert len(figures["seconds"]) == 2 and 0 < figures["waiting"] < 1
  assert 4 * 3 < figures["tokens"] <= 4 * MAX_WORDS
  assert figures["records"] == 50 and figures["lines_per_second"] is None
  assert 0 < 4 * figures["masked_per_second"] < figures["tokens_per_second"]
  np.testing.assert_allclose(
    figures["tokens_per_second"] / figures["records_per_second"], figures["tokens"] / 4
  )


@pytest.mark.parametrize("levels", [1, 2])
def test_a_file_of_units(levels, tmp_path, capsys, monkeypatch):
  monkeypatch.setenv("LUKE_JAX_CACHE", str(tmp_path / "cache"))
  units = np.zeros((levels, 40), int)
  units[:, [0, -1]] = -1
  made = UnitInstance(np.arange(40), np.zeros(40, int), units, True)
  write_units(LukePath(tmp_path / "units.gz"), [made] * 20)
  options = ["--batch-size", 4, "--batches", 3, "--rounds", 2, "--step-ms", 5]
  out = ["--output", tmp_path / "out.json"]
  assert main(["pipeline", *map(str, [tmp_path / "units.gz", *options, *out])]) == 0
  assert "masked words a second, one core" in capsys.readouterr().out
  figures = json.loads((tmp_path / "out.json").read_text())
  assert (figures["records"], figures["tokens"]) == (19, 160)
  assert 0.05 < figures["masked"] / figures["tokens"] < 0.3
  assert figures["lines_per_second"] > 0


def test_a_file_without_units(tmp_path, capsys):
  (tmp_path / "text").write_text("words; and others\n")
  assert main(["pipeline", str(tmp_path / "text")]) == 2
  assert "text: no instances; expected ids;types;positions" in capsys.readouterr().err


@pytest.mark.parametrize(
  ("options", "line"),
  [
    (["--rounds", "0"], "rounds: 0; expected 1 or more"),
    (["--workers", "-1"], "workers: -1; expected 0 or more"),
    (["--step-ms", "0"], "step_ms: 0.0; expected milliseconds above 0"),
  ],
)
def test_what_cannot_be_timed(folder, options, line, capsys):
  assert main(["pipeline", folder, *options]) == 2
  assert capsys.readouterr().err.splitlines()[-1] == f"luke-jax: {line}"


def test_a_folder_without_records(tmp_path, capsys):
  assert main(["pipeline", str(tmp_path)]) == 2
  assert "no metadata.json; expected a folder of records" in capsys.readouterr().err


@pytest.mark.slow
def test_a_core_makes_what_is_promised(tmp_path, capsys):
  """The least that is promised is 20,000. With workers, steps of 100 ms hardly wait."""
  folder = write_corpus(tmp_path / "corpus", toy_records(3000))
  options = ["--batch-size", "64", "--rounds", "3", "--workers", "1"]
  assert main(["pipeline", folder, *options]) == 0
  summary = json.loads(capsys.readouterr().out.splitlines()[-1])
  assert summary["tokens_per_second"] > 20_000 and summary["waiting"] < 0.1
