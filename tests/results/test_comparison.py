import json

import pytest

from luke_jax.cli import main
from luke_jax.errors import InputError
from luke_jax.results.comparison import chance_of, compare


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
  arguments = ["experiment", "compare", str(tmp_path / "one"), str(tmp_path / "other")]
  assert main(arguments) == 0
  lines = capsys.readouterr().out.splitlines()
  assert lines[0] == "| | seeds | f1 | below the first | p |"
  assert lines[2].endswith("one | 2 | 60.0 ± 14.1 | | |")
  assert lines[3].endswith("other | 2 | 45.0 ± 7.1 | 15.0 | 0.500 |")
  assert main([*arguments, "--metric", "accuracy"]) == 2
  assert "no test accuracy; expected one of test f1" in capsys.readouterr().err
  assert main(arguments[:3]) == 2
  write(tmp_path / "other" / "again", 1, 0.1)
  assert main(arguments) == 2
  assert "seed 1 twice" in capsys.readouterr().err


def test_scores_on_dev_are_compared_where_there_is_no_test(tmp_path, capsys):
  for folder, scores in (("one", (0.5, 0.7)), ("other", (0.4, 0.5))):
    for seed, f1 in enumerate(scores):
      write(tmp_path / folder, seed, f1, "dev")
  arguments = ["experiment", "compare", str(tmp_path / "one"), str(tmp_path / "other")]
  assert main(arguments) == 0
  assert "other | 2 | 45.0" in capsys.readouterr().out
  assert main([*arguments, "--split", "test"]) == 2
  assert "no test metric; expected one of dev f1" in capsys.readouterr().err
