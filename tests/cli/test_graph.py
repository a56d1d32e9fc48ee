"""`luke-jax graph`: from triples to vectors, ranks and neighbours, and faults in one line."""

import json
from pathlib import Path

import numpy as np
import pytest

from experiments import neighbours
from luke_jax.cli import main, script

SAMPLE = str(Path(__file__).parents[2] / "data" / "sample_graph")
SMALL = ["model.hidden_size=8", "task.chunk=32", "task.negatives=8", "data.batch_size=8"]
SMALL += ["data.evaluation_batch_size=8", "task.dev_chunk=4", "run.epochs=2", "task.margin=2"]


def last_line(capsys):
  return json.loads(capsys.readouterr().out.strip().splitlines()[-1])


@pytest.fixture(scope="module")
def run(tmp_path_factory):
  folder = tmp_path_factory.mktemp("graph") / "run"
  changes = [part for field in SMALL for part in ("--set", field)]
  assert main(["graph", "train", SAMPLE, "--output", str(folder), "--text", *changes]) == 0
  return folder


def test_a_run_leaves_vectors_that_are_scored(run, capsys):
  assert main(["graph", "evaluate", SAMPLE, "--vectors", str(run / "vectors")]) == 0
  scores = last_line(capsys)
  wanted = {"mr", "mrr", "hits_1", "hits_3", "hits_10", "mrr_head", "mrr_tail", "classification"}
  assert wanted <= set(scores) and 0 < scores["mrr"] <= 1 and scores["mr"] >= 1
  assert main(["graph", "evaluate", SAMPLE, "--vectors", str(run / "vectors"), "--raw"]) == 0
  assert last_line(capsys)["mr"] >= scores["mr"]


def test_vectors_made_elsewhere_are_scored_by_their_names(run, tmp_path, capsys):
  """Without .npy and the norm, and with ids in another order."""
  vectors = run / "vectors"
  for name in ("relation2id.txt", "relation2vec.vec"):
    (tmp_path / name).write_text((vectors / name).read_text())
  names = (vectors / "entity2id.txt").read_text().splitlines()[1:][::-1]
  lines = (vectors / "entity2vec.vec").read_text().splitlines()[::-1]
  turned = [f"{line.split(chr(9))[0]}\t{id}" for id, line in enumerate(names)]
  (tmp_path / "entity2id.txt").write_text("\n".join([str(len(names)), *turned]) + "\n")
  (tmp_path / "entity2vec.vec").write_text("\n".join(lines) + "\n")
  ask = ["graph", "evaluate", SAMPLE, "--vectors"]
  assert main([*ask, str(vectors)]) == 0
  expected = last_line(capsys)
  assert main([*ask, str(tmp_path), "--norm", "1"]) == 0
  assert last_line(capsys) == pytest.approx(expected, abs=2e-3)
  assert main([*ask, str(tmp_path)]) == 2
  assert "--norm: missing" in capsys.readouterr().err


def test_neighbours_are_listed_nearest_first(run, capsys):
  assert script(neighbours.main, "neighbours", [str(run / "vectors"), "Q55", "--count", "3"]) == 0
  printed = capsys.readouterr().out
  assert printed.count("Q") == 3 and "Q55" not in printed
  distances = [float(x) for x in printed.split() if x.replace(".", "").isdigit() and "." in x]
  assert distances == sorted(distances) and len(distances) == 3


@pytest.mark.parametrize(
  "arguments, message",
  [
    (["graph", "train", "nowhere", "--output", "x"], "nowhere: no such folder or file"),
    (["graph", "evaluate", SAMPLE, "--vectors", "nowhere"], "--norm: missing"),
    (["graph", "evaluate", SAMPLE, "--vectors", "x", "--norm", "1"], "x: no entity2vec.npy"),
    (["graph", "evaluate", SAMPLE, "--vectors", "x", "--norm", "3"], "--norm"),
    (["graph", "learn"], "'graph learn': no such command; expected one of graph train"),
  ],
)
def test_faults_are_one_line(arguments, message, capsys, tmp_path, monkeypatch):
  monkeypatch.chdir(tmp_path)
  assert main(arguments) == 2
  error = capsys.readouterr().err.strip()
  assert message in error and "\n" not in error
  assert not list(tmp_path.iterdir())


def test_unknown_names_are_refused(run, capsys):
  assert script(neighbours.main, "neighbours", [str(run / "vectors"), "Q999"]) == 2
  assert "'Q999': no vector; expected a known name" in capsys.readouterr().err
  ask = [str(run / "vectors"), "Q55", "--relation", "up"]
  assert script(neighbours.main, "neighbours", ask) == 2
  assert "'up': no vector" in capsys.readouterr().err
  for arguments, message in (
    (["nowhere", "Q1"], "nowhere: no entity2vec.npy"),
    ([*ask[:2], "--count", "0"], "--count: 0; expected 1 or more"),
  ):
    assert script(neighbours.main, "neighbours", arguments) == 2
    assert message in capsys.readouterr().err


def test_tables_of_different_widths_are_refused(run, tmp_path, capsys):
  for path in (run / "vectors").iterdir():
    (tmp_path / path.name).write_bytes(path.read_bytes())
  np.save(tmp_path / "relation2vec.npy", np.zeros((4, 3), np.float32))
  assert main(["graph", "evaluate", SAMPLE, "--vectors", str(tmp_path)]) == 2
  assert "8 and 3 wide; expected the same width" in capsys.readouterr().err
