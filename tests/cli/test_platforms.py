"""A machine without a TPU where libtpu is installed: JAX is told, unless someone chose."""

import os

import pytest

from luke_jax.cli import process


@pytest.fixture
def here(monkeypatch):
  """A machine with libtpu and nothing else."""
  for name in [name for name in os.environ if name.startswith(process.OF_TPUS)]:
    monkeypatch.delenv(name)
  monkeypatch.setattr(process, "find_spec", lambda name: name == "libtpu")
  monkeypatch.setattr(process, "entry_points", lambda group: ())
  monkeypatch.setattr(process, "may_have_tpu", lambda: False)
  yield monkeypatch
  monkeypatch.undo()


def chosen():
  process.leave_out_tpus()
  return os.environ.pop("JAX_PLATFORMS", None)


def test_without_a_tpu_jax_looks_for_none(here):
  assert chosen() == "cpu"


@pytest.mark.parametrize("name", ["JAX_PLATFORMS", "JAX_PLATFORM_NAME", "TPU_WORKER_HOSTNAMES"])
def test_what_names_platforms_is_respected(name, here):
  here.setenv(name, "x")
  assert chosen() == ("x" if name == "JAX_PLATFORMS" else None)


@pytest.mark.parametrize(
  ("part", "value"),
  [
    ("find_spec", lambda name: None),
    ("entry_points", lambda group: ("cuda",)),
    ("may_have_tpu", lambda: True),
  ],
)
def test_what_may_compute_is_left_to_jax(part, value, here):
  here.setattr(process, part, value)
  assert chosen() is None


@pytest.mark.parametrize(
  ("file", "text", "may"),
  [
    ("dev/null", "", False),
    ("dev/accel0", "", True),
    ("dev/vfio/0", "", True),
    ("dev/vfio/vfio", "", False),
    ("sys/bus/pci/devices/0000:00:04.0/vendor", "0x8086\n", False),
    ("sys/bus/pci/devices/0000:00:04.0/vendor", "0x1ae0\n", True),
  ],
)
def test_devices_that_may_be_tpus(file, text, may, tmp_path):
  (tmp_path / file).parent.mkdir(parents=True)
  (tmp_path / file).write_text(text)
  assert process.may_have_tpu(tmp_path) is may
