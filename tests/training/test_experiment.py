"""Experiments from files, how long their runs take, and every fault of the two."""

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from networks import backbone, tiny

from luke_jax.errors import InputError
from luke_jax.models.table import SIZES
from luke_jax.tasks.synthetic import SyntheticPretraining
from luke_jax.training.directory import prepare
from luke_jax.training.experiment import Experiment, Run, from_dict, to_json, total_steps
from luke_jax.training.experiment_files import (
  experiment_and_paper,
  is_experiment_file,
  load_experiment,
)
from luke_jax.training.overrides import override

GOOD = """
from luke_jax.models.table import SIZES
from luke_jax.tasks.synthetic import SyntheticPretraining
from luke_jax.training.experiment import Experiment, Run

def config():
  return Experiment(SIZES["tiny"], SyntheticPretraining(), run=Run(steps=3))
"""
OWN_TASK = """
from __future__ import annotations
import dataclasses
from luke_jax.models.table import SIZES
from luke_jax.training.experiment import Experiment
from luke_jax.tasks.synthetic import SyntheticPretraining
@dataclasses.dataclass(frozen=True)
class Mine(SyntheticPretraining):
  rate: float | None = None
  names: tuple[str, ...] = ()

def config():
  return Experiment(SIZES["tiny"], Mine(rate=1, names=["a"]))
"""


@pytest.fixture
def file(tmp_path):
  def written(text):
    path = tmp_path / "my experiment.py"
    path.write_text(text)
    return path

  return written


def test_load_experiment(file):
  experiment = load_experiment(file(GOOD))
  assert experiment == Experiment(SIZES["tiny"], SyntheticPretraining(), run=Run(steps=3))
  path = file(GOOD.replace("steps=3", "steps=4"))  # in the same second, and as long
  assert load_experiment(path).run.steps == 4
  assert [each.name for each in path.parent.iterdir()] == ["my experiment.py"]


def test_an_experiment_file_may_have_its_own_task(file):
  experiment = load_experiment(file(OWN_TASK))
  assert experiment.task.names == ("a",)  # of the declared type
  hash(experiment)
  data = json.loads(to_json(experiment))
  own = {"class": "_experiment_my_experiment:Mine", "rate": 1.0, "names": ["a"]}
  assert own.items() <= data["task"].items()
  assert from_dict(data, load_experiment(file(OWN_TASK))).task.names == ("a",)
  assert override(experiment, ["task.rate=0.5", "task.names=b,c"]).task.names == ("b", "c")


BAD_FILES = {
  "def config(:": r"line 1: SyntaxError: ",
  "x = 1\nx.y": r"line 2: AttributeError: 'int' object has no attribute 'y'$",
  "import nowhere_to_be_found": r"line 1: ModuleNotFoundError: No module named",
  "x = 1": r"no function config; expected `def config\(\)` that returns an Experiment$",
  "config = 1": r"no function config; expected",
  "\n\ndef config():\n  pass": r"line 3: config\(\) returned a NoneType; expected an Experiment$",
  "def config(x):\n  pass": r"line 1: TypeError: config\(\) missing 1 required positional",
  "def config():\n  raise ValueError('a\\nb')": r"line 2: ValueError: a b$",
  "def config():\n  open('/nowhere/at all')": r"line 2: FileNotFoundError: .*'/nowhere/at all'$",
  GOOD.replace("steps=3", "steps=0"): r"line 7: run.steps: 0; expected a whole number",
  GOOD.replace("Pretraining(),", "Pretraining,"): r"line 7: task: <class .*>; expected a value of",
  GOOD.replace(
    'SIZES["tiny"]', "None"
  ): r"line 7: model: None; expected a value of a frozen dataclass$",
  GOOD.replace('SIZES["tiny"]', "Run()"): r"line 7: model: Run\(.*; expected the sizes of a system",
  GOOD.replace("Run(steps=3)", "Run(), running=Running(remat=1)").replace(
    "import Experiment, Run", "import Experiment, Run, Running"
  ): r"line 7: remat: 1; expected one of 'none', 'dots', 'full'$",
  GOOD.replace("run=Run(", "running=Run("): r"line 7: running: Run\(.*\); expected a Running$",
  OWN_TASK.replace("rate=1", "rate='1'"): r"line 12: task.rate: '1'; expected a number or null$",
  OWN_TASK.replace("rate=1", "rate=float('nan')"): r"line 12: task.rate: nan; expected a number",
  OWN_TASK.replace('["a"]', "{1}"): r"line 12: task.names: \{1\}; expected a number, a text",
  OWN_TASK.replace("frozen=True", ""): r"line 7: TypeError: cannot inherit non-frozen",
  OWN_TASK.replace("(SyntheticPretraining)", ""): r"line 13: task: Mine\(.*\); expected a luke_jax",
}


@pytest.mark.parametrize("text", BAD_FILES, ids=range(len(BAD_FILES)))
def test_faults_of_an_experiment_file(file, text):
  path = file(text)
  with pytest.raises(InputError, match=rf"^{path}: {BAD_FILES[text]}"):
    load_experiment(path)


TABLE = (
  GOOD.replace("def config()", "def tiny()")
  + """

from luke_jax.training.overrides import row
ROWS = {
  "tiny": row(tiny),
  "longer-seed-2": row(tiny, "run.steps=4", "run.seed=2", table="Table 1", f1=90.5),
  "bad": row(tiny, "run.stepps=4"),
  "none": tiny,
}
"""
)


def test_a_row_is_an_experiment_with_changes_and_a_paper(file):
  path = file(TABLE)
  experiment, paper = experiment_and_paper(path.with_name(f"{path.name}:longer-seed-2"))
  assert experiment == Experiment(SIZES["tiny"], SyntheticPretraining(), run=Run(steps=4, seed=2))
  assert paper == {"table": "Table 1", "f1": 90.5}
  assert load_experiment(path.with_name(f"{path.name}:tiny")).run.steps == 3
  assert is_experiment_file(f"{path}:tiny") and not is_experiment_file("ner")


@pytest.mark.parametrize(
  ("row", "fault"),
  [
    ("", r".py: a table; expected one of :tiny, :longer-seed-2, :bad, :none$"),
    (":longer-seed", r".py:longer-seed: no such row; expected another, perhaps :longer-seed-2$"),
    (":x", r".py:x: no such row; expected one of :tiny, :longer-seed-2, :bad, :none$"),
    (":bad", r".py:bad: run.stepps: no such field; expected another, perhaps run.steps$"),
    (":none", r".py:none: ROWS: a function; expected what overrides.row returns$"),
  ],
)
def test_faults_of_a_row(file, row, fault):
  path = file(TABLE)
  with pytest.raises(InputError, match=f"^{path.with_suffix('')}{fault}"):
    load_experiment(path.with_name(f"{path.name}{row}"))


def test_a_row_of_a_file_without_any(file):
  path = file(GOOD)
  with pytest.raises(InputError, match=r".py:tiny: no ROWS; expected the file alone$"):
    load_experiment(path.with_name(f"{path.name}:tiny"))


def test_no_experiment_file(tmp_path):
  with pytest.raises(InputError, match=r"none.py: No such file or directory; expected an exp"):
    load_experiment(tmp_path / "none.py")
  with pytest.raises(InputError, match=r"Is a directory; expected an experiment file$"):
    load_experiment(tmp_path)
  (tmp_path / "config.json").write_text("{}")
  with pytest.raises(InputError, match=r"config.json: not a .py file; expected an exp"):
    load_experiment(tmp_path / "config.json")


@pytest.mark.parametrize(
  ("fields", "fault"),
  [
    ({"steps": 0}, "run.steps: 0; expected a whole number from 1"),
    ({"steps": 3.0}, "run.steps: 3.0; expected a whole number"),
    ({"steps": True}, "run.steps: True; expected a whole number"),
    ({"epochs": 0}, "run.epochs: 0; expected a number above 0"),
    ({"epochs": math.nan}, "run.epochs: nan; expected a number above 0"),
    ({"epochs": math.inf}, "run.epochs: inf; expected a number above 0"),
    ({"epochs": "3"}, "run.epochs: '3'; expected a number above 0"),
    ({"steps": 1, "epochs": 1}, "run.steps: 1, and run.epochs: 1; expected one of them"),
    ({"seed": -1}, "run.seed: -1; expected a whole number from 0"),
    ({"accumulation": 0}, "run.accumulation: 0; expected"),
    ({"log_every": 0}, "run.log_every: 0; expected"),
    ({"evaluate_every": 0}, "run.evaluate_every: 0; expected"),
    ({"save_every": None}, "run.save_every: None; expected"),
    ({"keep": 0}, "run.keep: 0; expected"),
    ({"keep_every": -1}, "run.keep_every: -1; expected"),
    ({"best_metric": ""}, "run.best_metric: ''; expected the name of a metric"),
    ({"skip_bad_steps": -1}, "run.skip_bad_steps: -1; expected"),
  ],
)
def test_faults_of_a_run(fields: dict[str, Any], fault):
  with pytest.raises(InputError) as found:
    Run(**fields)
  assert str(found.value).startswith(fault)


@given(st.integers(1, 10**9), st.integers(1, 400), st.integers(1, 4096))
def test_epochs_cover_the_records_and_no_sliver_more(records, tenths, batch_size):
  steps = total_steps(Run(epochs=tenths / 10), records, batch_size)
  assert steps * batch_size * 10 >= records * tenths > (steps - 1) * batch_size * 10


@given(st.integers(1, 2**31 - 1), st.integers(1, 10**9))
def test_steps_are_steps(steps, records):
  assert total_steps(Run(steps=steps, accumulation=4), records, 8) == steps


def test_made_up_pages_have_entities():
  words_only = backbone(tiny(entity_vocab_size=0, use_entity_aware_attention=False))
  with pytest.raises(InputError, match=r"^model.entity_vocab_size: 0; expected more than"):
    SyntheticPretraining().records(words_only, "train")
  with pytest.raises(InputError, match=r"^model.entity_vocab_size: 0"):
    SyntheticPretraining().row_shapes(words_only)


@pytest.mark.parametrize(
  ("run", "records", "fault"),
  [
    (Run(), 10, "run.steps: null, as run.epochs; expected one of them"),
    (Run(steps=1, accumulation=3), 10, "data.batch_size: 8; expected a multiple of run.accum"),
    (Run(steps=1), 0, "the records of train: none; expected one at least"),
  ],
)
def test_faults_of_the_number_of_steps(run, records, fault):
  with pytest.raises(InputError) as found:
    total_steps(run, records, 8)
  assert str(found.value).startswith(fault)


def test_a_run_that_is_older_than_a_field_goes_on(tmp_path):
  experiment = Experiment(SIZES["tiny"], SyntheticPretraining(), run=Run(steps=1))
  prepare(tmp_path, experiment, {})
  (tmp_path / "ledger.json").write_text("[]")
  config = json.loads((tmp_path / "config.json").read_text())
  assert config["model"].pop("tie_entity_embeddings")
  (tmp_path / "config.json").write_text(json.dumps(config))
  prepare(tmp_path, experiment, {})
  config["model"]["vocab_size"] = 5
  (tmp_path / "config.json").write_text(json.dumps(config))
  with pytest.raises(InputError, match=r"holds another run \(model.vocab_size: 5 there, 1000 here"):
    prepare(tmp_path, experiment, {})


def test_experiment_files_may_import_from_the_former_place():
  from luke_jax.training import experiment_files

  assert experiment_files.load_experiment is load_experiment
