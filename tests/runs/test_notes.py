"""Notes of a run, which its model's card is made of."""

from pathlib import Path

from sample_models import sample_file

from luke_jax.english import directory
from luke_jax.runs import notes
from luke_jax.runs.recipes import task_experiment


def test_a_start_has_the_name_that_people_call_it_by(tmp_path):
  def name(path):
    return notes._start(str(path))["name"]

  assert name(directory("labels")) == "english/labels"
  assert name(tmp_path / "ner" / "model") == "ner" and name(tmp_path / "luke-base") == "luke-base"
  assert notes._start(None) is None


def test_examples_held_out_are_no_file_of_dev(tmp_path):
  file = tmp_path / "texts.jsonl"
  lines = sample_file("typing", "train").read_text("utf-8").splitlines(keepends=True)
  file.write_text("".join(lines[:100]), encoding="utf-8")
  chosen = task_experiment("typing", (file, None), Path("data/sample_model"), ["task.held_out=0.2"])
  train, dev = notes.described_data(chosen)
  assert train["file"] == "texts.jsonl" and train["examples"] + dev["examples"] == 100
  assert dev["file"] == f"texts.jsonl, {dev['examples']} examples held out"
  assert (dev["split"], dev["sha256"]) == ("dev", train["sha256"])
