"""What benchmarks/tener.py times: the same network on both sides, on sentences like English."""

import json
from importlib.util import find_spec

import numpy as np
import pytest

from benchmarks.__main__ import main
from benchmarks.ner import LONGEST
from benchmarks.tener import LABELS, OurTener, TheirTener, check_same, made_up
from luke_jax.errors import InputError
from luke_jax.formats.files import Faults
from luke_jax.models import keys
from luke_jax.tasks.tagging.task import Tagging

NEEDS_TORCH = pytest.mark.skipif(not find_spec("torch"), reason="needs torch")


def test_sentences_are_like_english(tmp_path):
  path = made_up(tmp_path / "a.conll", 300)
  assert path.read_text() == made_up(tmp_path / "b.conll", 300).read_text()
  examples = Tagging().read(path, Faults())
  lengths = [len(words) for example in examples for words in example.sentences]
  assert len(lengths) == 300 and max(lengths) <= LONGEST and 20 < np.mean(lengths) < 32
  letters = [end - start for example in examples for start, end in example.words]
  assert 3.5 < np.mean(letters) < 5.5 and max(letters) < 30
  assert {span.label for example in examples for span in example.spans} == set(LABELS)


@pytest.fixture(scope="module")
def sides(tmp_path_factory):
  """Both sides without dropout, with all sentences in one batch."""
  folder = tmp_path_factory.mktemp("tener")
  ours = OurTener(made_up(folder / "train.conll", 8), folder, "tener-weibo", 8, dropout=False)
  return ours, TheirTener(ours, 8)


@pytest.mark.parity
@NEEDS_TORCH
def test_both_sides_predict_the_same_and_learn_the_same(sides):
  ours, theirs = sides
  assert check_same(ours, theirs) < 1e-4
  assert ours.predict() == theirs.predict()
  ours.train()
  theirs.train()
  table = ours.config.keys("crf")
  before, after = (
    theirs.torch.state_of(dict(keys.to_torch(params, table)))
    for params in (ours.params, ours.state["trained"])
  )
  found = theirs.model.state_dict()
  assert found.keys() == after.keys()
  for name, x in after.items():
    step = (x - before[name]).abs().max().item()
    np.testing.assert_allclose(found[name], x, atol=1e-3 * step + 1e-7, err_msg=name)


@pytest.mark.parity
@NEEDS_TORCH
def test_different_networks_are_not_timed(sides):
  ours, theirs = sides
  theirs.model.classifier.bias.data += 1
  with pytest.raises(InputError, match=r"logits or losses differ by 1.*; expected at most 0\.0001"):
    check_same(ours, theirs)


@pytest.mark.parity
@NEEDS_TORCH
def test_a_run(tmp_path, capsys):
  options = ["--size", "tener-weibo", "--sentences", 8, "--batch", 4, "--rounds", 1]
  options += ["--output", tmp_path / "out.json"]
  assert main(["tener", *map(str, options)]) == 0
  summary = json.loads(capsys.readouterr().out.splitlines()[-1])
  figures = json.loads((tmp_path / "out.json").read_text())
  assert summary == {name: figures[name] for name in summary}
  assert all(summary["ratio"][part] > 0 for part in ("training", "prediction"))
  assert figures["sentences"] == 8 and figures["difference"] < 1e-4


@pytest.mark.parametrize(
  ("options", "message"),
  [
    (["--rounds", "0"], "rounds: 0; expected 1 or more"),
    (["--batch", "0"], "batch: 0; expected 1 or more"),
    (["--sentences", "0"], "sentences: 0; expected 1 or more"),
    (["--size", "huge"], "huge: unknown size; expected one of tener-conll2003"),
  ],
)
def test_what_cannot_be_timed(options, message, capsys):
  assert main(["tener", *options]) == 2
  said = capsys.readouterr().err
  assert message in said and said.count("\n") == 1
