"""`luke-jax calibrate`: scores of a model that is there, fitted to a file."""

import json
import shutil

import pytest
from sample_models import ROOT
from tiny import tiny_model

from luke_jax.cli import main
from luke_jax.model import load


@pytest.fixture(scope="module")
def typed(tmp_path_factory):
  """A model that knows nothing, and a file of examples that it gives some type."""
  folder = tmp_path_factory.mktemp("calibrated")
  tiny_model("LukeForEntityClassification").save(folder / "model")
  lines = [
    {"text": f"Ana {i} sailed", "span": [0, 3], "labels": [("person", "place")[i % 2]]}
    for i in range(400)
  ]
  (folder / "dev.jsonl").write_text("".join(json.dumps(x) + "\n" for x in lines))
  return folder


def test_a_model_gets_scores_that_are_shares_of_right_answers(typed, capsys):
  model, file = str(typed / "model"), str(typed / "dev.jsonl")
  before = load(model).predict("Ana 1 sailed", span=(0, 3))
  asked = ["predict", "typing", model, json.dumps({"text": "Ana sailed", "span": [0, 3]})]
  assert main([*asked, "--threshold", "0.2"]) == 0
  assert "scores are as computed, for the model has no calibration" in capsys.readouterr().err
  assert main(["calibrate", "typing", model, file]) == 0
  found = json.loads(capsys.readouterr().out.splitlines()[-1])
  assert found["answers"] >= 100 and found["after"] <= found["before"]
  config = json.loads((typed / "model" / "config.json").read_text())
  expected = pytest.approx([found["slope"], found["offset"]], rel=1e-4)
  assert config["luke_jax"]["calibration"] == expected
  assert main(["evaluate", "typing", model, file]) == 0
  assert "no calibration" not in capsys.readouterr().err
  after = load(model).predict("Ana 1 sailed", span=(0, 3))
  assert [x.label for x in after] == [x.label for x in before]
  assert main(["calibrate", "typing", model, file]) == 0  # again: not fitted to what was fitted
  assert json.loads(capsys.readouterr().out.splitlines()[-1])["slope"] == found["slope"]


def test_what_cannot_be_fitted_is_told(typed, tmp_path, capsys):
  shutil.copytree(typed / "model", tmp_path / "model")
  few = tmp_path / "few.jsonl"
  few.write_text("".join((typed / "dev.jsonl").read_text().splitlines(keepends=True)[:9]))
  assert main(["calibrate", "typing", str(tmp_path / "model"), str(few)]) == 2
  assert "answers; expected 100 or more" in capsys.readouterr().err
  assert main(["calibrate", "typing", str(ROOT / "nowhere"), str(few)]) == 2
  assert main(["calibrate", "ner", "english/ner", str(few)]) == 2
  assert "english/ner: in the box" in capsys.readouterr().err
