"""Runs in this process: what they leave behind, how they go on, and when they stop."""

import dataclasses
import json
import shutil
import signal

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from shared_programs import SharedProgram
from tiny_runs import experiment, left_at, logged, program, same, trained

from luke_jax.errors import InputError
from luke_jax.models.system import Running
from luke_jax.tasks.synthetic import SyntheticPretraining
from luke_jax.training import loop as loops
from luke_jax.training.checkpoints import Checkpoints
from luke_jax.training.experiment import Run
from luke_jax.training.export import read_run
from luke_jax.training.loop import train
from luke_jax.training.mesh import MeshShape, make_mesh


@pytest.fixture(scope="module", autouse=True)
def one_device_of_all():
  """The programs are those of other files' tests, too."""
  with pytest.MonkeyPatch.context() as patch:
    patch.setattr(loops, "make_mesh", lambda shape: make_mesh(shape, jax.devices()[:1]))
    patch.setattr(loops, "Program", SharedProgram)
    yield


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
  """A run to the end, with evaluations."""
  folder = tmp_path_factory.mktemp("runs") / "whole"
  run = {"evaluate_every": 4, "best_metric": "word_likelihood", "keep": 1, "keep_every": 8}
  chosen = experiment(run=run)
  return chosen, folder, train(chosen, folder)


def test_a_run_leaves_what_it_promises(finished):
  chosen, folder, summary = finished
  assert summary["status"] == "done" and summary["step"] == 12
  lines = logged(folder)
  assert [x["step"] for x in lines if "loss" in x] == [4, 8, 12]
  assert [x["step"] for x in lines if "dev/word_likelihood" in x] == [4, 8, 12]
  assert json.loads((folder / "config.json").read_text())["run"]["steps"] == 12
  assert list((folder / "tensorboard").iterdir())
  best = max(lines, key=lambda x: x.get("dev/word_likelihood", 0))["step"]
  checkpoints = Checkpoints(folder / "checkpoints", chosen.run)
  assert set(checkpoints.steps) == {8, 12, best} and checkpoints.best == best
  checkpoints.close()
  assert read_run(folder)[1] == best


def test_a_metric_that_is_none_is_refused_before_the_first_step(tmp_path):
  chosen = experiment(run={"best_metric": "word_likelihod"})
  with pytest.raises(InputError, match=r"^run.best_metric: 'word_likelihod'; expected one of"):
    train(chosen, tmp_path)
  assert not (tmp_path / "metrics.jsonl").exists()


def test_the_ledger_adds_up(finished):
  seconds = finished[2]["seconds"]
  assert seconds["lost"] == 0 and seconds["start"] > 0 < seconds["step"]
  # Reading so little rounds to 0, and so does compiling what another test has compiled.
  assert seconds["data"] >= 0 <= seconds["compile"]
  share = seconds["step"] / sum(seconds.values())
  assert finished[2]["goodput"] == pytest.approx(share, abs=1e-2) and 0 < share < 1
  assert 0 < json.loads((finished[1] / "ledger.json").read_text())["goodput"] < 1


def test_a_finished_run_stays_as_it_is(finished):
  chosen, folder, summary = finished
  before = (folder / "metrics.jsonl").read_bytes()
  again = train(chosen, folder)
  times = {"seconds": 0, "goodput": 0}
  assert again | times == summary | times and "dev/word_likelihood" in again
  assert (folder / "metrics.jsonl").read_bytes() == before


@pytest.mark.slow
def test_what_does_not_change_the_numbers_may_change_on_the_way(finished, tmp_path, monkeypatch):
  """Stopped, resumed on another mesh with workers and rematerialised: the same to rounding."""
  chosen, folder, _ = finished
  short = dataclasses.replace(chosen, mesh=MeshShape(data=2, fsdp="none"))
  monkeypatch.setattr(loops, "make_mesh", lambda shape: make_mesh(shape, jax.devices()[:2]))
  with monkeypatch.context() as patch:
    patch.setattr(loops.Watch, "due", left_at(5))
    assert train(short, tmp_path / "run")["status"] == "preempted"
  data = dataclasses.replace(chosen.data, workers=1)
  running = Running(remat="full")
  longer = dataclasses.replace(chosen, mesh=MeshShape(replica=2), data=data, running=running)
  summary = train(longer, tmp_path / "run")
  assert summary["status"] == "done"
  one, other = (
    {x["step"]: x for x in logged(f) if "loss" in x} for f in (folder, tmp_path / "run")
  )
  for step in (8, 12):
    assert other[step]["loss"] == pytest.approx(one[step]["loss"], rel=1e-5)


def test_stopped_and_resumed_is_the_same_to_the_bit(finished, tmp_path, monkeypatch):
  chosen, folder, _ = finished
  for stop in (3, 4, 7):  # at 4 an evaluation is due, which the next run makes up for
    monkeypatch.setattr(loops.Watch, "due", left_at(stop))
    assert train(chosen, tmp_path / "run")["step"] == stop
    saved = Checkpoints(tmp_path / "run" / "checkpoints", chosen.run, reading=True)
    assert saved.steps[-1] == stop and not saved.scores(stop)  # which are of another step
    saved.close()
    assert not any(
      x["step"] == stop for x in logged(tmp_path / "run") if "dev/word_likelihood" in x
    )
  monkeypatch.undo()
  train(chosen, tmp_path / "run")
  assert same(read_run(folder)[2], read_run(tmp_path / "run")[2])
  whole, parts = logged(folder), logged(tmp_path / "run")
  losses = [[x["loss"] for x in lines if "loss" in x] for lines in (whole, parts)]
  assert losses[1][-2:] == losses[0][-2:]
  scores = [[x for x in lines if "dev/word_likelihood" in x] for lines in (whole, parts)]
  assert scores[1] == scores[0] and [x["step"] for x in scores[1]] == [4, 8, 12]


@pytest.mark.slow
def test_restoring_onto_other_meshes_is_exact(tmp_path):
  chosen = program(experiment(), 8)
  state, _ = trained(chosen, chosen.fresh_state(), 2)
  checkpoints = Checkpoints(tmp_path, Run())
  checkpoints.save(2, state)
  checkpoints.wait()
  for devices, shape in ((4, MeshShape()), (1, MeshShape()), (8, MeshShape(fsdp="none"))):
    step, restored = checkpoints.restore(program(experiment(), devices, shape).state_shapes)
    assert step == 2 and same(restored, state)
  checkpoints.close()


def flip(path):
  data = bytearray(path.read_bytes())
  data[len(data) // 2] ^= 1
  path.write_bytes(data)


@pytest.mark.parametrize(
  ("harm", "told"),
  [
    (flip, "differs from what was saved|Failed to load"),
    (lambda path: path.write_bytes(path.read_bytes()[:100]), "has 100 bytes, not"),
    (lambda path: path.unlink(), "has no bytes, not"),
  ],
  ids=["a flipped bit", "cut short", "missing"],
)
def test_a_damaged_checkpoint_is_told_of_and_the_one_before_is_used(tmp_path, harm, told):
  chosen = program(experiment())
  state = chosen.fresh_state()
  checkpoints = Checkpoints(tmp_path, Run())
  for step in (1, 2):
    checkpoints.save(step, state)
  checkpoints.wait()
  files = [path for path in (tmp_path / "2" / "state").rglob("*") if path.is_file()]
  harm(max(files, key=lambda path: path.stat().st_size))
  with pytest.warns(UserWarning, match=told):
    step, restored = checkpoints.restore(chosen.state_shapes)
  assert step == 1 and same(restored, state)
  assert (tmp_path / "2.damaged").is_dir()  # nothing is thrown away
  checkpoints.save(2, state)
  checkpoints.wait()
  assert checkpoints.steps == [1, 2]
  checkpoints.close()


def test_where_all_checkpoints_are_damaged_nothing_begins_anew(tmp_path):
  chosen = program(experiment())
  checkpoints = Checkpoints(tmp_path, Run())
  checkpoints.save(1, chosen.fresh_state())
  checkpoints.wait()
  (tmp_path / "1" / "sizes.json").write_text('{"gone": 1}')
  refused = pytest.raises(InputError, match="all checkpoints are damaged")
  with pytest.warns(UserWarning, match="gone has no bytes"), refused:
    checkpoints.restore(chosen.state_shapes)
  with refused:  # the second time too
    checkpoints.restore(chosen.state_shapes)
  checkpoints.close()


def test_what_is_no_fault_of_the_files_sets_none_aside(tmp_path, monkeypatch):
  chosen = program(experiment())
  checkpoints = Checkpoints(tmp_path, Run())
  checkpoints.save(1, chosen.fresh_state())
  checkpoints.wait()

  def full(*_):
    raise jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: out of memory")

  monkeypatch.setattr(Checkpoints, "_read", full)
  with pytest.raises(jax.errors.JaxRuntimeError):
    checkpoints.restore(chosen.state_shapes)
  assert checkpoints.steps == [1]
  checkpoints.close()


def test_who_reads_a_run_leaves_alone_what_it_is_writing(finished, tmp_path):
  _, folder, _ = finished
  shutil.copytree(folder, tmp_path / "run")
  (begun := tmp_path / "run" / "checkpoints" / "99.orbax-checkpoint-tmp").mkdir()
  read_run(tmp_path / "run")
  assert begun.is_dir()


def test_a_run_is_read_where_only_an_accelerator_is_named(finished, monkeypatch):
  """As JAX_PLATFORMS=tpu does, after which there is no backend of the CPU."""
  devices, step = jax.local_devices(), read_run(finished[1])[1]

  def named(backend=None):
    if backend:
      raise RuntimeError(f"Unknown backend {backend}")
    return devices

  monkeypatch.setattr(jax, "local_devices", named)
  assert read_run(finished[1])[1] == step


def test_a_run_that_fails_early_gives_back_what_it_took(tmp_path, monkeypatch):
  before = signal.getsignal(signal.SIGTERM)
  monkeypatch.setattr(loops, "MetricsWriter", None)
  with pytest.raises(TypeError):
    train(experiment(), tmp_path)
  assert signal.getsignal(signal.SIGTERM) is before


def test_a_checkpoint_of_another_model_is_refused_and_stays(tmp_path):
  chosen = program(experiment())
  checkpoints = Checkpoints(tmp_path, Run())
  checkpoints.save(1, chosen.fresh_state())
  checkpoints.wait()
  other = program(experiment(model={"intermediate_size": 48}))
  with pytest.raises(InputError, match=r"kernel: \[2, 64, 32\] float32; expected \[2, 48, 32\]"):
    checkpoints.restore(other.state_shapes)
  assert checkpoints.steps == [1]
  checkpoints.close()


def test_another_config_is_refused_with_the_fields_that_differ(finished):
  chosen, folder, _ = finished
  other = dataclasses.replace(
    chosen, optimizer=dataclasses.replace(chosen.optimizer, learning_rate=2e-3)
  )
  with pytest.raises(InputError, match=r"holds another run .optimizer.learning_rate: 0.001 there"):
    train(other, folder)
  other = dataclasses.replace(chosen, running=Running("bfloat16", remat="dots"))
  with pytest.raises(InputError, match=r'holds another run .running.dtype: "float32" there, "bf'):
    train(other, folder)


def test_a_run_that_never_began_leaves_its_folder_to_another(tmp_path):
  with pytest.raises(InputError, match=r"data\.batch_size"):
    train(experiment(data={"batch_size": 7}, run={"accumulation": 2}), tmp_path / "run")
  assert train(experiment(), tmp_path / "run")["status"] == "done"


def test_a_folder_with_other_things_is_refused(tmp_path):
  (tmp_path / "thesis.tex").write_text("")
  with pytest.raises(InputError, match="is not empty and holds no run"):
    train(experiment(), tmp_path)


@dataclasses.dataclass(frozen=True)
class Explodes(SyntheticPretraining):
  """Its loss is not a number for batches with a certain first word, and counts records read."""

  bad: int = -1

  def loss(self, backbone, params, batch, weights, key):
    loss, metrics = super().loss(backbone, params, batch, weights, key)
    return jnp.where((batch["labels"] == self.bad).any(), jnp.nan, loss), metrics


def exploding(bad, **run):
  chosen = experiment(run=run, optimizer={"frozen": ("luke",)})
  task = Explodes(**dataclasses.asdict(chosen.task), bad=bad)
  return dataclasses.replace(chosen, task=task)


def test_a_loss_that_is_not_finite_stops_the_run_and_names_its_records(tmp_path):
  """Bad is what no batch avoids, once it is among the masked words."""
  chosen = exploding(bad=9, log_every=1, save_every=1)
  with pytest.raises(InputError, match=r"loss of step \d+ is not finite .records [\d, ]+.; last"):
    train(chosen, tmp_path / "run")


def test_bad_steps_are_skipped_and_counted_where_allowed(tmp_path):
  chosen = exploding(bad=9, log_every=1, skip_bad_steps=12)
  assert train(chosen, tmp_path / "run")["status"] == "done"
  lines = [line for line in logged(tmp_path / "run") if "loss" in line]
  assert lines[-1]["skipped"] == sum(line["loss"] == "nan" for line in lines) > 0


class Vanishing(list):
  def __getitem__(self, index):
    raise FileNotFoundError(2, "No such file or directory", "pages-3.array_record")


def test_a_data_file_that_disappears_is_one_line(tmp_path, monkeypatch):
  monkeypatch.setattr(SyntheticPretraining, "records", lambda *_: Vanishing(range(64)))
  with pytest.raises(OSError, match=r"pages-3.array_record"):
    train(experiment(), tmp_path / "run")


def test_evaluation_counts_every_record_once(monkeypatch):
  """33 records in batches of 16: the filling of the last batch is left out."""
  from luke_jax.training.scoring import evaluate

  chosen = experiment(task={"pages": 33 * 8})
  seen = []
  monkeypatch.setattr(
    SyntheticPretraining, "score", lambda self, records, x: seen.append(x) or {"n": len(records)}
  )
  programs = [program(chosen, n) for n in (1, 2)]
  for one in programs:
    assert evaluate(one, one.fresh_state(), "dev") == {"n": 33}
  assert all(x.shape == (33,) for x in jax.tree.leaves(seen[0]))
  jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5), *seen)


def test_adapters_need_a_start(tmp_path):
  """Kernels that never trained would stay as they fell."""
  with pytest.raises(InputError, match=r"optimizer.adapter: 2; expected run.start"):
    train(experiment(optimizer={"adapter": 2}), tmp_path / "run")


@pytest.mark.slow
def test_the_average_is_what_a_run_leaves_and_survives_a_stop(tmp_path):
  for folder, changes in (("plain", {}), ("averaged", {"average": 0.9})):
    chosen = experiment(optimizer=changes, run={"steps": 8})
    train(chosen, tmp_path / folder)
  plain, left = (read_run(tmp_path / folder)[2] for folder in ("plain", "averaged"))
  losses = [
    [line["loss"] for line in logged(tmp_path / folder) if "loss" in line]
    for folder in ("plain", "averaged")
  ]
  # The same training, but for the rounding of two programs, and another model.
  assert losses[0] == pytest.approx(losses[1], rel=1e-5) and not same(plain, left)
  shutil.rmtree(tmp_path / "averaged" / "checkpoints" / "8")
  train(chosen, tmp_path / "averaged")
  assert same(read_run(tmp_path / "averaged")[2], left)


@pytest.mark.slow
def test_a_trace_of_some_steps_is_written(tmp_path):
  train(experiment(), tmp_path / "run", profile=2)
  assert list((tmp_path / "run" / "profile").rglob("*.xplane.pb"))
