"""Tables of results, and experiments in pairs of a seed."""

import dataclasses
import json

import pytest

from experiments.results.compare import chance_of, compare, main
from experiments.results.table import read_results, tables
from luke_jax.cli import script
from luke_jax.errors import InputError
from luke_jax.runs.results import RESULT, SeedResult, hash_of

PAPER = {"table": "Table 3: CoNLL-2003, test", "method": "LUKE-large", "split": "test", "f1": 94.3}


def result(seed, f1, **changes):
  scores = {"dev": {"f1": 0.5}, "test": {"f1": f1, "precision": 0.1}}
  made = SeedResult(
    "experiments/ner.py:luke-large", seed, scores, 120.0, 10, PAPER, hardware="a TPU"
  )
  changes = {"parameters": 483_850_000} | changes
  return dataclasses.replace(made, **changes)


def test_a_row_has_the_papers_number_the_mean_the_deviation_and_the_best():
  text = tables([result(1, 0.940), result(2, 0.944)])
  assert "### Table 3: CoNLL-2003, test" in text
  header = (
    "| experiment | parameters | minutes | split | seeds | f1: paper | mean ± deviation | best |"
  )
  assert header in text
  assert "| LUKE-large | 484 M | 2.0 | test | 1, 2 | 94.3 | 94.2 ± 0.3 | 94.4 |" in text
  assert "\na TPU; " in text


def test_changed_settings_are_a_row_of_their_own():
  text = tables([result(1, 0.9), result(1, 0.8, changes=("run.start=null",))])
  assert "| LUKE-large (run.start=null) | 484 M | 2.0 | test | 1 | 94.3 | 80.0 | 80.0 |" in text
  assert "| LUKE-large | 484 M | 2.0 | test | 1 | 94.3 | 90.0 | 90.0 |" in text


def test_what_the_paper_lacks_or_nobody_measured_is_a_dash():
  text = tables([result(1, 0.9, paper={"table": "T", "split": "test", "method": "m"})])
  assert "| m | 484 M | 2.0 | test | 1 | – | 90.0 | 90.0 |" in text
  text = tables([result(1, 0.9, scores={"dev": {"f1": 0.1}}, parameters=0)])
  assert "| LUKE-large | – | 2.0 | test | 1 | 94.3 | – | – |" in text


def test_results_are_read_from_all_folders_below(tmp_path):
  for seed in (2, 1):
    folder = tmp_path / "ner" / f"seed-{seed}"
    folder.mkdir(parents=True)
    (folder / RESULT).write_text(json.dumps(dataclasses.asdict(result(seed, 0.9))))
  assert [found.seed for found in read_results([tmp_path])] == [1, 2]


def test_bad_input(tmp_path):
  with pytest.raises(InputError, match="no such folder"):
    read_results([tmp_path / "none"])
  with pytest.raises(InputError, match=r"no result.json in it"):
    read_results([tmp_path])
  for text in ("{", "[]", '{"seed": 1}'):
    (tmp_path / RESULT).write_text(text)
    with pytest.raises(InputError, match=r"result.json: not a result"):
      read_results([tmp_path])


def test_the_hash_is_of_what_the_files_hold(tmp_path):
  file = tmp_path / "a.jsonl"
  file.write_text("one")
  one = hash_of(str(file))
  (tmp_path / "dataset_info.json").write_text("{}")
  all_ = hash_of(f"{tmp_path}:train")
  assert one and all_ and all_ == hash_of(f"{tmp_path}:dev")
  file.write_text("two")
  assert hash_of(str(file)) != one and hash_of(f"{tmp_path}:train") != all_


def test_what_has_gone_has_no_hash(tmp_path, monkeypatch):
  monkeypatch.chdir(tmp_path)
  (tmp_path / "other.txt").write_text("of no matter")
  assert hash_of("gone.jsonl") is None


def test_all_signs_are_tried():
  assert chance_of([1.0, 1.0, 1.0]) == 0.25  # +++ and --- of eight
  assert chance_of([3.0, -1.0]) == 1.0
  assert chance_of([0.0, 0.0]) == 1.0
  assert chance_of([2.0] * 10) == 2 / 2**10
  with pytest.raises(InputError, match="at most 16"):
    chance_of([1.0] * 17)


def test_only_seeds_that_all_have_are_compared():
  first, other = compare({"a": {1: 0.5, 2: 0.6, 3: 0.9}, "b": {3: 0.7, 1: 0.4}})
  assert first.scores == pytest.approx((50, 90)) and first.chance is None
  assert other.below == pytest.approx((10, 20)) and other.chance == 0.5
  with pytest.raises(InputError, match="seeds: 1 that all have"):
    compare({"a": {1: 0.5}, "b": {1: 0.4, 2: 0.3}})


def write(folder, seed, f1, split="test"):
  run = folder / f"seed-{seed}"
  run.mkdir(parents=True)
  result = {"experiment": "x.py", "seed": seed, "scores": {split: {"f1": f1}}}
  (run / "result.json").write_text(json.dumps(result | {"seconds": 1, "steps": 1, "paper": {}}))


def test_the_command(tmp_path, capsys):
  for seed, (one, other) in enumerate([(0.5, 0.4), (0.7, 0.5)]):
    write(tmp_path / "one", seed, one)
    write(tmp_path / "other", seed, other)
  arguments = [str(tmp_path / "one"), str(tmp_path / "other")]
  assert script(main, "compare", arguments) == 0
  lines = capsys.readouterr().out.splitlines()
  assert lines[0] == "| | seeds | f1 | below the first | p |"
  assert lines[2].endswith("one | 2 | 60.0 ± 14.1 | | |")
  assert lines[3].endswith("other | 2 | 45.0 ± 7.1 | 15.0 | 0.500 |")
  assert script(main, "compare", [*arguments, "--metric", "accuracy"]) == 2
  assert "no test accuracy; expected one of test f1" in capsys.readouterr().err
  assert script(main, "compare", arguments[:1]) == 2
  write(tmp_path / "other" / "again", 1, 0.1)
  assert script(main, "compare", arguments) == 2
  assert "seed 1 twice" in capsys.readouterr().err


def test_scores_on_dev_are_compared_where_there_is_no_test(tmp_path, capsys):
  for folder, scores in (("one", (0.5, 0.7)), ("other", (0.4, 0.5))):
    for seed, f1 in enumerate(scores):
      write(tmp_path / folder, seed, f1, "dev")
  arguments = [str(tmp_path / "one"), str(tmp_path / "other")]
  assert script(main, "compare", arguments) == 0
  assert "other | 2 | 45.0" in capsys.readouterr().out
  assert script(main, "compare", [*arguments, "--split", "test"]) == 2
  assert "no test metric; expected one of dev f1" in capsys.readouterr().err
