"""What released versions left behind is read by this one, which answers as they did.

`goldens/make_release.py` writes an archive for each version.
"""

import json
import tarfile
from pathlib import Path

import numpy as np
import pytest
from packaging.version import Version

import luke_jax
from luke_jax.cli import main
from luke_jax.convert.programs import read_program

ARCHIVES = sorted((Path(__file__).parent / "goldens").glob("*.tar.xz"))
# What "no answer" costs is part of the scores of questions since then: their numbers are compared.
ANSWERED = ("typing", "relations", "ner", "cloze", "classification", "tagging", "facts", "linking")
COMPUTED = (*ANSWERED[:-1], "qa")
SINCE = {"facts": "0.2.0"}  # tasks that 0.1.0 did not have


@pytest.fixture(scope="module", params=ARCHIVES, ids=lambda x: x.name.removesuffix(".tar.xz"))
def older(request, tmp_path_factory):
  """The folder of a version, in which paths begin."""
  place = tmp_path_factory.mktemp("older")
  with tarfile.open(request.param) as archive:
    archive.extractall(place, filter="data")
  return place


@pytest.fixture(autouse=True)
def _there(older, monkeypatch):
  monkeypatch.chdir(older)


def skip_before(older, task):
  version = (older / "version.txt").read_text(encoding="utf-8").strip()
  if Version(version) < Version(SINCE.get(task, "0")):
    pytest.skip(f"{version} had no {task}")


def same_outputs(run, file):
  golden = np.load(file)
  inputs, outputs = (
    {x.removeprefix(side): golden[x] for x in golden.files if x.startswith(side)}
    for side in ("in ", "out ")
  )
  found = run(**inputs)
  assert set(found) == set(outputs), file
  for name, expected in outputs.items():
    np.testing.assert_allclose(found[name], expected, atol=2e-6, err_msg=f"{file}: {name}")


def test_a_model(older):
  place = older / "systems" / "luke"
  same_outputs(luke_jax.load(place), place / "golden.npz")


@pytest.mark.slow
def test_models_of_all_systems(older):
  places = [x for x in sorted((older / "systems").iterdir()) if x.name != "luke"]
  assert len(places) >= 8
  for place in places:
    same_outputs(luke_jax.load(place), place / "golden.npz")


def answers(capsys, task, model, name, *more):
  assert main(["predict", task, model, f"{name}.jsonl", *more]) == 0
  return [json.loads(x) for x in capsys.readouterr().out.splitlines()]


def same(found, file):
  """Scores are rounded to four digits, of which the last may differ; there may be more fields."""
  expected = [json.loads(x) for x in Path(file).read_text(encoding="utf-8").splitlines()]
  assert len(found) == len(expected) > 0
  for one, other in zip(found, expected, strict=True):
    _same(one, other)


def _same(one, other):
  if isinstance(other, float):
    assert one == pytest.approx(other, abs=2e-4)
  elif isinstance(other, dict):
    for key, value in other.items():
      _same(one[key], value)
  elif isinstance(other, list):
    for value, expected in zip(one, other, strict=True):
      _same(value, expected)
  else:
    assert one == other


@pytest.mark.slow
@pytest.mark.parametrize("task", COMPUTED)
def test_models_of_tasks(older, task):
  skip_before(older, task)
  same_outputs(luke_jax.load(older / "tasks" / task), older / f"{task}.npz")


@pytest.mark.slow
@pytest.mark.parametrize("task", ANSWERED)
def test_answers(older, task, capsys):
  skip_before(older, task)
  name, more = f"{task}.dev", []
  if task == "facts":
    more = ["--threshold", "0.497"]
  if task == "linking":  # whose config has the place where its knowledge was then
    name, more = task, ["--knowledge", "knowledge"]
  same(answers(capsys, task, f"tasks/{task}", name, *more), f"{task}.answers.jsonl")


@pytest.mark.slow
def test_an_adapter(capsys):
  found = answers(capsys, "typing", "adapter", "typing.dev", "--backbone", "luke")
  same(found, "adapter.answers.jsonl")


@pytest.mark.slow
def test_a_program(older):
  same_outputs(read_program(older / "tasks" / "typing"), older / "program.npz")


@pytest.mark.slow
def test_a_run_goes_on(older, one_device):
  """From the step at which it was stopped, to where it would have come."""
  command = (older / "stopped.txt").read_text(encoding="utf-8").split()
  assert main(command) == 0
  lines = (older / "stopped/metrics.jsonl").read_text(encoding="utf-8").splitlines()
  steps = [x["step"] for x in map(json.loads, lines) if "loss" in x]
  assert steps == list(range(1, 301))  # each once: it went on where it was stopped
  one, other = (luke_jax.load(older / x).params for x in ("stopped/model", "whole-model"))
  one, other = (_flat(x) for x in (one, other))
  assert one.keys() == other.keys()
  for path, expected in other.items():
    np.testing.assert_allclose(one[path], expected, atol=1e-4, err_msg=path)


def _flat(tree, path=""):
  if not isinstance(tree, dict):
    return {path: np.asarray(tree)}
  return {k: v for name, x in tree.items() for k, v in _flat(x, f"{path}/{name}").items()}


@pytest.mark.slow
def test_tables_of_a_wiki(older, tmp_path):
  """A linker's knowledge is made of them: what is held out of it is what it was."""
  command = ["entities", "describe", "tables", "--model", "luke", "--output", str(tmp_path / "new")]
  assert main(command) == 0
  new, then = ((x / "dev.jsonl").read_bytes() for x in (tmp_path / "new", older / "knowledge"))
  assert new == then


@pytest.mark.slow
def test_records(older, capsys):
  assert main(["wiki", "show", "build", "--n", "3"]) == 0
  assert capsys.readouterr().out == (older / "build.txt").read_text(encoding="utf-8")
