import dataclasses
import json

import pytest

from luke_jax.errors import InputError
from luke_jax.results.records import RESULT, Result, hash_of, read_results
from luke_jax.results.tables import tables

PAPER = {"table": "Table 3: CoNLL-2003, test", "method": "LUKE-large", "split": "test", "f1": 94.3}


def result(seed, f1, **changes):
  scores = {"dev": {"f1": 0.5}, "test": {"f1": f1, "precision": 0.1}}
  made = Result("experiments/ner/luke_large.py", seed, scores, 120.0, 10, PAPER, hardware="a TPU")
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
