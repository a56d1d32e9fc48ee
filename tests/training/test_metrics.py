"""metrics.jsonl and TensorBoard's events: every step once, whatever happened to the run."""

import io
import json
import os
import struct
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest
import tensorboardX
from hypothesis import given
from hypothesis import strategies as st
from tensorboardX.proto import event_pb2

from luke_jax.errors import InputError
from luke_jax.training.metrics import MetricsWriter, summary_line


def lines(directory):
  return [json.loads(line) for line in (directory / "metrics.jsonl").read_text().splitlines()]


def write(directory, *steps, start_step=0):
  with MetricsWriter(directory, start_step=start_step) as writer:
    for step in steps:
      writer.write(step, {"loss": 1 / step})


def events(directory):
  """What TensorBoard keeps, reading the files in the order of their names."""
  kept = {}
  for path in sorted((directory / "tensorboard").iterdir()):
    data = path.read_bytes()
    while data:
      (length,) = struct.unpack("Q", data[:8])
      event, data = event_pb2.Event.FromString(data[12 : 12 + length]), data[16 + length :]
      if event.session_log.status == event_pb2.SessionLog.START:
        kept = {step: values for step, values in kept.items() if step < event.step}
      if event.summary.value:
        assert event.step not in kept
        kept[event.step] = {value.tag: value.simple_value for value in event.summary.value}
  return kept


def test_numbers_of_every_kind(tmp_path):
  with MetricsWriter(tmp_path / "new" / "run", start_step=0) as writer:
    writer.write(1, {"loss": jnp.float32(0.5), "rate": jnp.bfloat16(2), "f1": np.float64(0.1)})
    assert lines(tmp_path / "new" / "run") == [{"step": 1, "loss": 0.5, "rate": 2.0, "f1": 0.1}]
    writer.write(2, {"loss": float("nan"), "high": np.inf, "low": -np.inf, "count": np.int64(3)})
  assert lines(tmp_path / "new" / "run")[1] == {
    "step": 2,
    "loss": "nan",
    "high": "inf",
    "low": "-inf",
    "count": 3,
  }
  seen = events(tmp_path / "new" / "run")
  assert seen[1] == pytest.approx({"loss": 0.5, "rate": 2.0, "f1": 0.1})
  assert np.isnan(seen[2]["loss"])
  assert seen[2]["high"] == np.inf


def test_numbers_only(tmp_path):
  with MetricsWriter(tmp_path, start_step=0) as writer, pytest.raises(ValueError):
    writer.write(1, {"loss": "low"})
  assert not lines(tmp_path)


@given(st.lists(st.integers(1, 50), unique=True).map(sorted), st.integers(0, 60), st.binary())
def test_a_resumed_run_writes_every_step_once(tmp_path_factory, steps, start_step, torn):
  directory = tmp_path_factory.mktemp("run")
  write(directory, *steps)
  path = directory / "metrics.jsonl"
  path.write_bytes(path.read_bytes() + torn.replace(b"\n", b"")[:40])
  write(directory, start_step + 1, start_step + 2, start_step=start_step)
  expected = [step for step in steps if step <= start_step] + [start_step + 1, start_step + 2]
  assert [line["step"] for line in lines(directory)] == expected
  assert list(events(directory)) == expected
  assert {path.name for path in directory.iterdir()} == {"metrics.jsonl", "tensorboard"}


@pytest.mark.parametrize("cut", range(1, 24))
def test_a_line_torn_anywhere_is_dropped(tmp_path, cut):
  write(tmp_path, 1, 2)
  path = tmp_path / "metrics.jsonl"
  whole = path.read_bytes()
  path.write_bytes(whole[:-cut])
  write(tmp_path, 3, start_step=2)
  # Without its end of line it is not torn.
  assert [line["step"] for line in lines(tmp_path)] == ([1, 2, 3] if cut == 1 else [1, 3])


def test_a_file_of_something_else_is_left_alone(tmp_path):
  path = tmp_path / "metrics.jsonl"
  path.write_text('{"step": 1}\n{"loss": 2}\n{"step": 3}\n')
  with pytest.raises(InputError, match=r"metrics.jsonl: line 2 is not an object with a step"):
    write(tmp_path, 9)
  assert path.read_text() == '{"step": 1}\n{"loss": 2}\n{"step": 3}\n'
  assert [path.name for path in tmp_path.iterdir()] == ["metrics.jsonl"]


def test_what_is_rewritten_is_never_half_there(tmp_path, monkeypatch):
  write(tmp_path, 1, 2, 3)
  before = (tmp_path / "metrics.jsonl").read_bytes()

  def full(*_):
    raise OSError(28, "No space left on device")

  monkeypatch.setattr("pathlib.Path.replace", full)
  with pytest.raises(InputError, match=r"metrics.jsonl: No space left on device; expected"):
    write(tmp_path, 2, start_step=1)
  assert (tmp_path / "metrics.jsonl").read_bytes() == before
  assert not (tmp_path / "metrics.jsonl.part").exists()


def test_only_an_enabled_writer_writes(tmp_path):
  with MetricsWriter(tmp_path, start_step=0, enabled=False) as writer:
    writer.write(1, {"loss": 1.0})
  assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_told_in_one_line(tmp_path):
  (tmp_path / "metrics.jsonl").symlink_to("/dev/full")
  with (
    pytest.raises(InputError, match=r"^\S*metrics.jsonl: No space left on device; expected"),
    MetricsWriter(tmp_path, start_step=0) as writer,
  ):
    writer.write(1, {"loss": 1.0})


class Full(io.BytesIO):
  def write(self, data):
    raise OSError(28, "No space left on device")


def test_events_on_a_full_disk_end_the_run_and_do_not_hang(tmp_path, monkeypatch):
  def write_many():
    with MetricsWriter(tmp_path, start_step=0) as writer:
      monkeypatch.setattr(tensorboardX.RecordWriter, "write", lambda self, data: Full().write(data))
      for step in range(1, 100):
        writer.write(step, {"loss": 1.0})

  with pytest.raises(InputError, match=r"tfevents\S*: No space left on device; expected"):
    write_many()
  assert len(lines(tmp_path)) == 1


def test_a_fault_of_the_run_is_not_hidden_by_one_of_closing(tmp_path, monkeypatch):
  close = tensorboardX.RecordWriter.close

  def broken(self):
    close(self)
    raise OSError(28, "No space left on device")

  with pytest.raises(KeyError), MetricsWriter(tmp_path, start_step=0):
    monkeypatch.setattr(tensorboardX.RecordWriter, "close", broken)
    raise KeyError
  with pytest.raises(InputError, match="No space left"), MetricsWriter(tmp_path, start_step=0):
    pass


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_no_permission_is_told_in_one_line(tmp_path):
  tmp_path.chmod(0o500)
  with pytest.raises(InputError, match=r"metrics.jsonl: Permission denied; expected"):
    write(tmp_path, 1)


def test_a_file_in_the_place_of_the_directory(tmp_path):
  (tmp_path / "run").write_text("")
  with pytest.raises(InputError, match=r"metrics.jsonl: .*; expected to write there"):
    write(tmp_path / "run", 1)


def test_summary_line():
  summary = {
    "status": "done",
    "seconds": {"step": 1.23456789, "data": 0.0},
    "dev/f1": np.float32(0.7123456789),
    "loss": float("nan"),
    "steps": np.int64(12345678),
    "best": None,
    "sizes": (1, 2.00000001),
  }
  assert summary_line(summary) == (
    '{"best": null, "dev/f1": 0.712346, "loss": "nan", "sizes": [1, 2.0], "status": "done",'
    ' "steps": 12345678, "seconds": {"data": 0.0, "step": 1.23457}}'
  )
