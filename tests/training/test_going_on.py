"""Runs that must go on: after a bad step, with damaged files, other data, or a kill at the end."""

import dataclasses
import json
import shutil

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from shared_programs import SharedProgram
from tiny_runs import experiment, left_at, program, same

from luke_jax.errors import InputError
from luke_jax.runs import training
from luke_jax.tasks.synthetic import SyntheticPretraining
from luke_jax.training import directory, integrity, processes
from luke_jax.training import loop as loops
from luke_jax.training.checkpoints import Checkpoints
from luke_jax.training.experiment import Run
from luke_jax.training.export import read_run
from luke_jax.training.loop import train


@dataclasses.dataclass(frozen=True)
class Explodes(SyntheticPretraining):
  """Its loss is not a number for batches with a certain first word."""

  def loss(self, backbone, params, batch, weights, key):
    loss, metrics = super().loss(backbone, params, batch, weights, key)
    return jnp.where((batch["labels"] == 9).any(), jnp.nan, loss), metrics


@pytest.fixture(scope="module")
def left(tmp_path_factory):
  """A run with scores that left at step 3 of 4, after checkpoints of steps 2 and 3."""
  folder = tmp_path_factory.mktemp("left") / "run"
  run = {"steps": 4, "save_every": 2, "evaluate_every": 2, "best_metric": "word_likelihood"}
  chosen = experiment(run=run)
  with pytest.MonkeyPatch.context() as patch:
    make_mesh = loops.make_mesh
    patch.setattr(loops, "make_mesh", lambda shape: make_mesh(shape, jax.devices()[:1]))
    patch.setattr(loops, "Program", SharedProgram)
    patch.setattr(loops.Watch, "due", left_at(3))
    assert training.run(chosen, folder)["status"] == "preempted"
  return chosen, folder


@pytest.fixture
def copied(left, tmp_path, one_device):
  """A copy of it."""
  shutil.copytree(left[1], tmp_path / "run")
  return left[0], tmp_path / "run"


@pytest.mark.slow
def test_a_run_that_met_a_bad_step_goes_on_when_it_may_skip_it(tmp_path, one_device):
  chosen = experiment(run={"steps": 6, "log_every": 1, "save_every": 1})
  chosen = dataclasses.replace(chosen, task=Explodes(**dataclasses.asdict(chosen.task)))
  with pytest.raises(InputError, match=r"run.skip_bad_steps=1 with the same command to go on"):
    train(chosen, tmp_path / "run")
  skipping = dataclasses.replace(chosen.run, skip_bad_steps=6)
  chosen = dataclasses.replace(chosen, run=skipping)
  assert train(chosen, tmp_path / "run")["status"] == "done"


def cut(path):
  path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def renamed(path):
  """Another name of an array, as one flipped bit makes it, which is still JSON."""
  text = path.read_text()
  assert "kernel" in text
  path.write_text(text.replace("kernel", "kernem", 1))


def rescored(path):
  text = path.read_text()
  assert '"word_likelihood": 0.0' in text
  path.write_text(text.replace('"word_likelihood": 0.0', '"word_likelihood": 9.0'))


def opened(chosen, folder, **how):
  return Checkpoints(folder / "checkpoints", chosen.run, **how)


@pytest.mark.parametrize("harm", [cut, renamed, rescored, lambda path: path.unlink()])
def test_damaged_metadata_of_an_old_checkpoint_is_told_and_set_aside(harm, copied):
  chosen, folder = copied
  harm(folder / "checkpoints" / "2" / "_CHECKPOINT_METADATA")
  with pytest.warns(UserWarning, match=r"2: damaged .*left out"):
    assert opened(chosen, folder, reading=True).steps == [3]
  with pytest.warns(UserWarning, match=r"2: damaged .*; renamed to 2.damaged"):
    assert opened(chosen, folder).steps == [3]
  assert (folder / "checkpoints" / "2.damaged").is_dir()


def test_a_run_with_damaged_metadata_is_read_and_goes_on(copied):
  chosen, folder = copied
  renamed(folder / "checkpoints" / "3" / "_CHECKPOINT_METADATA")
  with pytest.warns(UserWarning, match=r"3: damaged .*left out"):
    assert read_run(folder)[1] == 2
  with pytest.warns(UserWarning, match=r"3: damaged .*; renamed to 3.damaged"):
    assert train(chosen, folder)["status"] == "done"


def test_a_checkpoint_without_a_digest_is_read_with_its_scores(tmp_path, copied):
  """As runs wrote them before."""
  chosen, folder = copied
  checkpoint = folder / "checkpoints" / "2"
  path = checkpoint / "_CHECKPOINT_METADATA"
  whole = json.loads(path.read_text())
  scores = whole["custom_metadata"]["scores"]
  state = opened(chosen, folder).restore(program(chosen).state_shapes)[1]
  older = integrity.sums(state, version=1)
  arrays = {name: [*x[:2], older[name]] for name, x in whole["custom_metadata"]["arrays"].items()}
  (folder / "checkpoints" / "3" / "_CHECKPOINT_METADATA").write_text(
    json.dumps(whole | {"custom_metadata": {"arrays": arrays}})
  )
  (folder / "checkpoints" / "3" / "metrics").mkdir()
  (folder / "checkpoints" / "3" / "metrics" / "metrics").write_text(json.dumps(scores))
  (folder / "checkpoints" / "3" / "sizes.json").unlink()
  checkpoints = opened(chosen, folder)
  assert checkpoints.scores(3) == scores == checkpoints.scores(2)
  step, again = checkpoints.restore(program(chosen).state_shapes)
  assert step == 3 and same(state, again)
  (folder / "checkpoints" / "3" / "metrics" / "metrics").write_text("{")
  with pytest.warns(UserWarning, match="3: damaged"):
    assert opened(chosen, folder).steps == [2]


def test_data_that_changed_is_refused_by_name(copied):
  chosen, folder = copied
  with pytest.raises(
    InputError, match=r"since the run began: a.jsonl: none then, 12 now; expected"
  ):
    train(chosen, folder, data={"a.jsonl": "12"})
  assert json.loads((folder / "data.json").read_text()) == {"records of train": "256"}


def test_fewer_records_are_refused(copied, monkeypatch):
  chosen, folder = copied
  monkeypatch.setattr(SyntheticPretraining, "records", lambda *_: range(100))
  with pytest.raises(InputError, match=r"records of train: 256 then, 100 now"):
    train(chosen, folder)


def test_notes_and_sizes_are_written_after_a_kill(copied):
  chosen, folder = copied
  train(chosen, folder)
  sizes = (folder / "checkpoints" / "4" / "sizes.json").read_bytes()
  (folder / "checkpoints" / "4" / "sizes.json").unlink()  # as if killed right after the commit
  assert json.loads((folder / "notes.json").read_text())["step"] == 3
  training.run(chosen, folder)
  written = json.loads((folder / "notes.json").read_text())
  assert written["step"] == 4
  assert (folder / "checkpoints" / "4" / "sizes.json").read_bytes() == sizes
  training.run(chosen, folder)
  assert json.loads((folder / "notes.json").read_text()) == written


@pytest.mark.parametrize("version", [1, 2])
def test_sums_of_little_are_those_of_a_program(version, monkeypatch):
  values = jax.random.normal(jax.random.key(0), (3, 40, 5))
  mesh = jax.make_mesh((8,), ("data",), axis_types=(jax.sharding.AxisType.Auto,))
  spread = jax.device_put(values.reshape(40, 15), jax.NamedSharding(mesh, jax.P("data")))
  state = {"x": values, "spread": spread, "step": jnp.int32(7), "key": jax.random.key(3)}
  little = integrity.sums(state, version)
  monkeypatch.setattr(integrity, "_LITTLE", 0)
  assert little == integrity.sums(state, version)


def test_a_bit_that_flips_anywhere_changes_a_sum():
  bits = np.arange(150, dtype=np.uint32).reshape(3, 50)
  whole = integrity.sums({"x": bits.view(np.float32)}, version=2)
  for place in np.ndindex(bits.shape):
    for bit in (0, 31):
      other = bits.copy()
      other[place] ^= np.uint32(1 << bit)
      assert integrity.sums({"x": other.view(np.float32)}, version=2) != whole


def test_rows_that_changed_places_are_damage(copied):
  chosen, folder = copied
  checkpoints = opened(chosen, folder)
  _, state = checkpoints.restore(program(chosen).state_shapes)
  sums = integrity.sums(state, version=2)
  words = state["trained"]["luke"]["embeddings"]["word"]
  words["embedding"] = words["embedding"][jnp.array([0, 2, 1, *range(3, 100)])]
  other = integrity.sums(state, version=2)
  assert [name for name in sums if sums[name] != other[name]] == [
    "trained/luke/embeddings/word/embedding"
  ]


def test_a_fault_that_passes_sets_no_checkpoint_aside(copied, monkeypatch):
  from orbax.checkpoint import v1 as ocp

  chosen, folder = copied
  load, faults = ocp.load_checkpointables, [OSError(5, "Input/output error")]

  def loads(*arguments):
    if faults:
      raise faults.pop()
    return load(*arguments)

  monkeypatch.setattr(ocp, "load_checkpointables", loads)
  monkeypatch.setattr("luke_jax.training.checkpoints._PAUSE", 0)
  checkpoints = opened(chosen, folder)
  assert checkpoints.restore(program(chosen).state_shapes)[0] == 3  # the second reading
  for fault in (OSError(116, "Stale file handle"), ValueError("UNAVAILABLE: connection reset")):
    faults += [fault, fault]
    with pytest.raises(InputError, match=r"3: not read \(.*; expected a disk that answers"):
      checkpoints.restore(program(chosen).state_shapes)
  assert checkpoints.steps == [2, 3]


@pytest.mark.slow
def test_leftovers_of_a_kill_are_removed(copied):
  chosen, folder = copied
  (folder / "ledger.1a2b3c4d.part.json").write_text("{")
  (unfinished := folder / "checkpoints" / "9.orbax-checkpoint-tmp-1").mkdir()
  half = folder / "checkpoints" / "1"
  half.mkdir()
  (half / "removing").touch()
  assert train(chosen, folder)["status"] == "done"
  assert not unfinished.exists() and not half.exists() and not list(folder.glob("*.part*"))


def test_old_checkpoints_go_and_kept_ones_stay(tmp_path, one_device):
  chosen = program(experiment())
  state = chosen.fresh_state()
  checkpoints = Checkpoints(tmp_path, Run(keep=1, keep_every=4, best_metric="x"))
  for step in range(1, 8):
    checkpoints.save(step, state, {"x": 0.5 if step in (2, 3) else 0.1})
  checkpoints.close()
  assert checkpoints.steps == [3, 4, 7]
  assert sorted(int(path.name) for path in tmp_path.iterdir()) == [3, 4, 7]
  again = Checkpoints(tmp_path, Run(best_metric="x"))
  assert again.steps == [3, 4, 7] and again.best == 3  # the last of equals
  assert again.better({"x": 0.5}) and not again.better({"x": 0.4})


def test_processes_alone_hear_themselves():
  assert processes.gathered({"a": 1}) == [{"a": 1}] and processes.from_first(lambda: 3) == 3


def test_skipping_bad_steps_may_change_on_the_way():
  assert "run.skip_bad_steps" in directory.FREE


@pytest.mark.parametrize(
  ("alone", "named", "kept"), [(False, None, True), (True, None, False), (False, "mine", False)]
)
def test_programs_of_several_hosts_lie_in_the_folder_of_the_run(
  alone, named, kept, tmp_path, monkeypatch
):
  monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", named or str(loops.program_folder()))
  monkeypatch.setattr(processes, "alone", lambda: alone)
  monkeypatch.setattr(loops.compilation_cache, "reset_cache", lambda: None)
  changed = {}
  monkeypatch.setattr(loops.jax.config, "update", changed.__setitem__)
  loops.keep_programs(tmp_path)
  place = str(tmp_path / "compiled" / loops.program_folder().name)
  assert changed == ({"jax_compilation_cache_dir": place} if kept else {})
