"""The one file of LUKE is equal to the engine and to what PyTorch computed."""

import json
from pathlib import Path

import numpy as np
import pytest

import luke_jax
from experiments.luke_in_one_file import Inputs, Weights, luke, main, read

ROOT = Path(__file__).parents[1]
TEXTS = ["Tamsin sang in Arkessa.", "Arkessa"]
SPANS = [[(0, 6), (15, 22)], [(0, 7)]]


def test_it_is_equal_to_the_engine():
  model = luke_jax.load(ROOT / "data" / "sample_model")
  weights, config = read(ROOT / "data" / "sample_model")
  inputs = model.processor(TEXTS, entity_spans=SPANS)
  expected = model(**inputs)
  found = luke(weights, config, Inputs(**{name: inputs[name] for name in Inputs._fields}))
  for x, name in zip(found, ("last_hidden_state", "entity_last_hidden_state"), strict=True):
    np.testing.assert_allclose(x, expected[name], atol=2e-6, rtol=0)


@pytest.mark.parametrize(
  "name", ["aware", *(pytest.param(x, marks=pytest.mark.slow) for x in ("original", "full-width"))]
)
def test_it_is_equal_to_pytorch(name):
  with np.load(ROOT / "tests" / "goldens" / "models" / f"LukeModel-{name}.npz") as file:
    golden = dict(file)
  weights = Weights({x.removeprefix("param:"): y for x, y in golden.items() if "param:" in x})
  inputs = Inputs(**{x: golden[f"input:{x}"] for x in Inputs._fields})
  found = luke(weights, json.loads(str(golden["config"])), inputs)
  for x, name in zip(found, ("last_hidden_state", "entity_last_hidden_state"), strict=True):
    np.testing.assert_allclose(x, golden[f"output:{name}"], atol=2e-6, rtol=0)


def test_it_runs(capsys):
  main(str(ROOT / "data" / "sample_model"), TEXTS[0], "15", "22")
  assert "entities (1, 1, 64)" in capsys.readouterr().out


def test_it_is_short():
  text = (ROOT / "experiments" / "luke_in_one_file.py").read_text("utf-8")
  assert text.count("\n") <= 150
