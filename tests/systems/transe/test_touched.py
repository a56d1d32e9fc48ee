"""Steps that touch a few rows of a table: equal to steps over all of it, and without its cost."""

import dataclasses
import re
from pathlib import Path

import numpy as np
import pytest
from tiny_runs import arrays, left_at, program, trained

from luke_jax.errors import InputError
from luke_jax.pipeline.batches import Data
from luke_jax.systems.transe import TransEConfig
from luke_jax.systems.transe.task import LinkPrediction
from luke_jax.training import watch
from luke_jax.training.experiment import Experiment, Run
from luke_jax.training.export import read_run
from luke_jax.training.loop import train
from luke_jax.training.mesh import MeshShape
from luke_jax.training.optimizer import Optimizer, Schedule
from luke_jax.training.task import Task

SAMPLE = Path(__file__).parents[3] / "data" / "sample_graph"
OPTIMIZER = Optimizer(learning_rate=1e-2, weight_decay=0.0, bias_correction=True)


def experiment(**groups) -> Experiment:
  """A few steps on the sample graph; fields of a group as a dict."""
  base = Experiment(
    model=TransEConfig(100, 4, hidden_size=8),
    task=LinkPrediction(graph=str(SAMPLE), chunk=4, negatives=4, dev_chunk=16, margin=2.0),
    data=Data(batch_size=4, evaluation_batch_size=4),
    optimizer=OPTIMIZER,
    schedule=Schedule(warmup_ratio=0.0),
    run=Run(steps=8, log_every=4, save_every=4),
  )
  changed = {
    name: dataclasses.replace(getattr(base, name), **fields) for name, fields in groups.items()
  }
  return dataclasses.replace(base, **changed)


@dataclasses.dataclass(frozen=True)
class WholeTables(LinkPrediction):
  """The same task, whose steps pass over whole tables."""

  updated = Task.updated


@pytest.fixture(scope="module")
def alone():
  chosen = program(experiment())
  return trained(chosen, chosen.fresh_state(), 3)


def test_only_rows_of_the_batch_change():
  chosen = program(experiment())
  before = chosen.fresh_state()
  tables = {name: np.array(x) for name, x in before["trained"].items()}
  batches = chosen.training_batches(chosen.experiment.task.records(chosen.backbone, "train"))
  batch = batches(0)
  after, _ = chosen.step(before, chosen.placed(batch))
  read = np.unique(np.concatenate([batch[x].ravel() for x in ("heads", "tails", "negatives")]))
  changed = np.flatnonzero((np.asarray(after["trained"]["entity"]) != tables["entity"]).any(1))
  assert set(changed) <= set(read) and len(changed) > 0
  moments = arrays(after["moments"])
  touched = [x for name, x in moments.items() if name.endswith("mu/entity")]
  assert len(touched) == 1 and set(np.flatnonzero(touched[0].any(1))) == set(changed)


def test_the_first_step_is_that_of_whole_tables(alone):
  """Later ones differ: moments of untouched rows stay."""
  settings = dataclasses.asdict(experiment().task)
  whole = program(dataclasses.replace(experiment(), task=WholeTables(**settings)))
  one = program(experiment())
  expected, losses = trained(whole, whole.fresh_state(), 1)
  found, other_losses = trained(one, one.fresh_state(), 1)
  np.testing.assert_allclose(other_losses, losses, rtol=1e-6)
  for name, array in arrays(expected["trained"]).items():
    np.testing.assert_allclose(arrays(found["trained"])[name], array, atol=1e-6, err_msg=name)


@pytest.mark.parametrize(
  "shape",
  [
    pytest.param(MeshShape(), id="4", marks=pytest.mark.slow),
    pytest.param(MeshShape(replica=2), id="2 x 2"),
  ],
)
def test_a_mesh_changes_nothing(shape, alone):
  chosen = program(experiment(), 4, shape)
  state, losses = trained(chosen, chosen.fresh_state(), 3)
  np.testing.assert_allclose(losses, alone[1], rtol=1e-5)
  table = state["trained"]["entity"]
  assert table.sharding.shard_shape(table.shape) == (512 * shape.replica // 4, 8)
  for name, array in arrays(alone[0]["trained"]).items():
    np.testing.assert_allclose(arrays(state["trained"])[name], array, atol=1e-5, err_msg=name)


def test_micro_batches_add_up_to_the_batch(alone):
  chosen = program(experiment(run={"accumulation": 2}))
  state, losses = trained(chosen, chosen.fresh_state(), 3)
  np.testing.assert_allclose(losses, alone[1], rtol=1e-5)
  np.testing.assert_allclose(state["trained"]["entity"], alone[0]["trained"]["entity"], atol=1e-5)


@pytest.mark.parametrize("devices", [1, 4])
def test_no_step_passes_over_a_large_table(devices):
  """A million rows: what a step needs besides its state is less than a tenth of one table."""
  large = experiment(model={"entity_vocab_size": 2**20}, data={"batch_size": 4})
  chosen = program(large, devices)
  compiled = chosen.compiled_step
  table = chosen.state_shapes["trained"]["entity"]
  memory = compiled.memory_analysis()
  assert memory.temp_size_in_bytes < table.size * 4 / devices / 10
  assert memory.alias_size_in_bytes > 3 * table.size * 4 / devices  # rows and both moments
  rows = table.shape[0] // devices
  whole = rf"= f32\[{rows},8\]\S* (\w+)\("
  operations = set(re.findall(whole, compiled.as_text()))
  assert operations <= {"parameter", "scatter", "fusion", "while", "get-tuple-element", "bitcast"}


@pytest.mark.slow
def test_a_run_that_was_stopped_goes_on_to_the_bit(tmp_path, monkeypatch):
  chosen = experiment(mesh={"data": 8}, data={"batch_size": 8, "evaluation_batch_size": 8})
  train(chosen, tmp_path / "whole")
  monkeypatch.setattr(watch.Watch, "due", left_at(5))
  assert train(chosen, tmp_path / "parts")["status"] == "preempted"
  monkeypatch.undo()
  assert train(chosen, tmp_path / "parts")["status"] == "done"
  whole, parts = (read_run(tmp_path / name, chosen)[2] for name in ("whole", "parts"))
  for name, table in whole.items():
    np.testing.assert_array_equal(parts[name], table, err_msg=name)
    assert len(table) in (100, 4)


def test_an_average_of_the_weights_is_refused():
  with pytest.raises(InputError, match=r"optimizer\.average: expected null"):
    _ = program(experiment(optimizer={"average": 0.9})).lowered_step


def test_adapters_are_refused():
  with pytest.raises(InputError, match=r"optimizer\.adapter: 4; expected 0, as TransE has no enc"):
    program(experiment(optimizer={"adapter": 4}))
