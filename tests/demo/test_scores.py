"""What the demo learnt, for `.ci/run demo`: DEMO is the folder that it wrote."""

import os
from pathlib import Path

import pytest

from luke_jax.demo.report import FRESH, result
from luke_jax.files import Path as Folder
from luke_jax.show.lines import read_run

DEMO = os.environ.get("DEMO", "")
pytestmark = pytest.mark.skipif(not DEMO, reason="looks at what `make demo` wrote")


def test_it_learnt_which_names_mean_which_entities():
  curves = read_run(Folder(DEMO) / "pretraining")
  accuracy, majority = (dict(curves[f"dev/entity_{name}"]) for name in ("accuracy", "majority"))
  last = max(accuracy)
  assert accuracy[last] > 5 * majority[last]


def test_pretraining_helped_and_relations_were_learnt():
  typing = [result(Folder(DEMO), name)["scores"] for name in ("typing", "typing" + FRESH)]
  pretrained, fresh = (scores["test"]["f1"] for scores in typing)
  assert pretrained > fresh
  assert result(Folder(DEMO), "relations")["scores"]["test"]["accuracy"] > 0.6


def test_a_page_tells_of_it():
  assert (Path(DEMO) / "report.html").stat().st_size > 10_000
