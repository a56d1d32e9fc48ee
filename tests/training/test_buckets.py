"""Runs in a bucket are those on a disk: the same numbers, whatever happened to them."""

import gc
import json
import time

import jax
import jax.numpy as jnp
import pytest
from cloud_storage import RefusedError
from tiny_runs import experiment, left_at, same

from luke_jax.errors import InputError
from luke_jax.files import buckets, sizes
from luke_jax.files.buckets import BucketPath
from luke_jax.show.lines import read_run as read_metrics
from luke_jax.training import loop as loops
from luke_jax.training import metrics
from luke_jax.training.checkpoints import Checkpoints
from luke_jax.training.experiment import Run
from luke_jax.training.export import read_run
from luke_jax.training.loop import train
from luke_jax.training.mesh import make_mesh
from luke_jax.training.metrics import MetricsWriter, read_lines


@pytest.fixture(scope="module", autouse=True)
def one_of_the_devices():
  with pytest.MonkeyPatch.context() as patch:
    patch.setattr(loops, "make_mesh", lambda shape: make_mesh(shape, jax.devices()[:1]))
    yield


@pytest.mark.slow
def test_a_run_that_was_stopped_goes_on_in_a_bucket(bucket, tmp_path, monkeypatch):
  chosen = experiment(run={"log_every": 1, "keep": 1})
  assert train(chosen, tmp_path / "run")["status"] == "done"
  with monkeypatch.context() as patch:
    patch.setattr(loops.Watch, "due", left_at(6))
    summary = train(chosen, bucket / "run")
  assert (summary["status"], summary["step"]) == ("preempted", 6)
  assert train(chosen, bucket / "run")["status"] == "done"
  there, here = read_run(bucket / "run"), read_run(tmp_path / "run")
  assert there[1] == here[1] == 12
  assert same(there[2], here[2])
  assert losses(bucket / "run") == losses(tmp_path / "run")
  # The oldest checkpoint went.
  names = sizes(bucket / "run")
  assert {name.split("/")[1] for name in names if name.startswith("checkpoints/")} == {"12"}
  assert json.loads((bucket / "run/checkpoints/12/sizes.json").read_text())
  assert [name for name in names if name.startswith("tensorboard/")]
  with pytest.raises(InputError, match="holds another run"):
    train(experiment(run={"seed": 1}), bucket / "run")


@pytest.mark.slow
def test_a_damaged_checkpoint_is_set_aside(bucket):
  chosen = experiment(run={"steps": 4, "save_every": 2, "keep": 2})
  train(chosen, bucket / "run")
  damaged = next((bucket / "run/checkpoints/4/state/ocdbt.process_0/d").iterdir())
  damaged.write_bytes(damaged.read_bytes()[:-1])
  with pytest.warns(UserWarning, match=r"checkpoints/4: damaged .*; renamed to 4.damaged"):
    assert train(chosen, bucket / "run")["status"] == "done"
  assert {path.name for path in (bucket / "run/checkpoints").iterdir()} == {"2", "4", "4.damaged"}


STATE = {"trained": {"x": jnp.arange(6.0)}, "frozen": {}, "step": jnp.ones((), jnp.int32)}


@pytest.fixture
def saved(bucket):
  """A folder with a checkpoint of a few numbers."""
  checkpoints = Checkpoints(bucket / "checkpoints", Run())
  checkpoints.save(1, STATE)
  checkpoints.close()
  return bucket / "checkpoints"


# gcsfs tries again for half a minute what is refused with another status.
@pytest.mark.parametrize(
  "status", [403, *(pytest.param(x, marks=pytest.mark.slow) for x in (401, 404))]
)
# Orbax leaves coroutines behind where it fails.
@pytest.mark.filterwarnings(
  "ignore::pytest.PytestUnraisableExceptionWarning", "ignore::RuntimeWarning"
)
def test_what_cannot_be_read_is_not_set_aside(saved, cloud_storage, monkeypatch, status):
  """A refused object says nothing of what is in it, whichever of a checkpoint's objects it is."""
  monkeypatch.setattr("luke_jax.training.checkpoints._PAUSE", 0)
  names = sorted(sizes(saved / "1"))
  assert any("/d/" in name for name in names) and "sizes.json" in names
  for name in names:
    monkeypatch.setattr(cloud_storage, "refused", {f"/1/{name}": status})
    try:
      checkpoints = Checkpoints(saved, Run())
      assert checkpoints.restore(STATE)[0] == 1, name  # it can do without some
    except InputError as fault:
      assert "expected a" in str(fault)
    monkeypatch.undo()
    assert [path.name for path in saved.iterdir()] == ["1"], name
  gc.collect()
  checkpoints = Checkpoints(saved, Run())
  assert checkpoints.restore(STATE)[0] == 1
  checkpoints.close()


def test_a_checkpoint_that_may_not_be_renamed_is_left_as_it_is(saved, cloud_storage, monkeypatch):
  damaged = saved / "1/sizes.json"
  damaged.write_bytes(b"{}}")
  before = cloud_storage.files(str(saved))
  copied = cloud_storage.put

  def refusing(bucket, name, data, query, **options):
    if ".damaged/" in name and "ocdbt" in name:
      raise RefusedError(403, "no access")
    return copied(bucket, name, data, query, **options)

  monkeypatch.setattr(cloud_storage, "put", refusing)
  with pytest.raises(InputError, match="expected a bucket that this machine's credentials can use"):
    Checkpoints(saved, Run()).restore(STATE)
  assert cloud_storage.files(str(saved)) == before


def test_a_small_file_that_arrives_changed_is_not_read(saved, tmp_path, monkeypatch):
  """The bucket knows the MD5 of what was written."""
  download = BucketPath.download

  def changed(path, file):
    download(path, file)
    file.write_bytes(file.read_bytes().replace(b"1", b"2"))

  monkeypatch.setattr(BucketPath, "download", changed)
  monkeypatch.setenv("LUKE_JAX_CACHE", str(tmp_path))
  with pytest.raises(InputError, match="arrives damaged, or changes while it is read"):
    Checkpoints(saved, Run()).restore(STATE)
  assert [path.name for path in saved.iterdir()] == ["1"]


def test_a_bucket_that_does_not_answer_is_told_of(saved, monkeypatch, capsys):
  monkeypatch.setattr(buckets, "SILENCE", 0.01)
  with saved.storage():
    time.sleep(0.1)
  assert f"{saved}: no answer after 0.01 s; waiting" in capsys.readouterr().err


def losses(folder):
  return {int(step): loss for step, loss in read_metrics(folder)["loss"]}


def write(directory, *steps, start_step=0, killed=False):
  with MetricsWriter(directory, start_step=start_step) as writer:
    for step in steps:
      writer.write(step, {"loss": 1 / step})
    if killed:  # what follows the last flush is lost
      writer.flush()
      writer._lines._lines.clear()


def test_metrics_are_joined_and_what_runs_again_is_dropped(bucket, monkeypatch):
  write(bucket, 1, 2, 3, killed=True)
  monkeypatch.setattr(metrics, "SECONDS", 0)
  write(bucket, 3, 4, 5, start_step=2)
  assert len(list((bucket / "metrics").iterdir())) == 4
  write(bucket, 5, 6, start_step=4)
  assert [json.loads(line)["step"] for line in read_lines(bucket)] == [1, 2, 3, 4, 5, 6]
  assert read_lines(bucket / "none") is None
