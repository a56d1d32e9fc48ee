"""Several slices: what goes over the network between them, in programs compiled for real ones."""

import math
import re

import numpy as np
import pytest
from tiny_runs import experiment

from luke_jax.errors import InputError
from luke_jax.plan.compiling import whole_bytes
from luke_jax.plan.hlo import execution, parse
from luke_jax.plan.traffic import between_slices
from luke_jax.training.mesh import MeshShape, make_mesh
from luke_jax.training.program import Program


@pytest.fixture
def two_slices(monkeypatch):
  pytest.importorskip("libtpu", reason="compiling for a TPU needs the extra `tpu`")
  from jax.experimental import topologies

  monkeypatch.setenv("TPU_SKIP_MDS_QUERY", "1")
  monkeypatch.setenv("ALLOW_MULTIPLE_LIBTPU_LOAD", "1")
  return lambda name: (
    topologies.get_topology_desc(platform="tpu", topology_name=name, num_slices=2).devices
  )


class Device:
  """A device of a slice, as far as a mesh looks at it."""

  platform, device_kind, process_index = "cpu", "cpu", 0

  def __init__(self, id, slice_index):
    self.id, self.slice_index = id, slice_index


def test_slices_are_the_outer_part_of_replicas():
  devices = [Device(i, i // 4) for i in (5, 0, 4, 1, 6, 2, 7, 3)]
  for replica in (2, 4):
    mesh = make_mesh(MeshShape(replica=replica), devices)
    assert mesh.devices.shape == (replica, 8 // replica)
    halves = np.split(mesh.devices, 2)
    assert [{x.slice_index for x in half.flat} for half in halves] == [{0}, {1}]
  with pytest.raises(InputError, match=r"^mesh.replica: 1 on 2 slices; expected a multiple of 2"):
    make_mesh(MeshShape(), devices)


# A transfer between slices is a send to the host, of an array of 4-byte numbers.
SEND = re.compile(
  r"= \([fsu]32\[([\d,]+)\]\S* .* send\(.*_xla_megascale_reduce_operation=\"(\w+)\""
  r".*_xla_megascale_transfer_type=\"(\w+)\""
)


@pytest.mark.tpu_aot
@pytest.mark.parametrize("kind", ["v5e:2x2", "v6e:2x2", "v5p:2x2x1"])
def test_only_gradients_go_from_slice_to_slice(kind, two_slices):
  model = {"hidden_size": 256, "intermediate_size": 1024, "entity_emb_size": 256}
  chosen = experiment(
    mesh={"replica": 2}, model={**model, "vocab_size": 1024, "num_hidden_layers": 1}
  )
  program = Program(chosen, make_mesh(chosen.mesh, two_slices(kind)), steps=10)
  text = program.compiled_step.as_text()
  sends = SEND.findall(text)
  assert len(sends) == len(re.findall(r" send\(", text)) > 0
  assert {send[1:] for send in sends} == {("SUM", "ALL_REDUCE")}
  sent = 4 * sum(math.prod(map(int, sizes.split(","))) for sizes, *_ in sends)
  # Each of the four chips of a slice sends its quarter. Beside gradients a few sums go, of losses
  # and of weights, and small arrays are padded.
  quarter = whole_bytes(program.state_shapes["trained"]) / 4
  assert quarter <= sent < 1.5 * quarter
  parsed = parse(text)
  rows = between_slices(parsed, execution(parsed), slices=2)
  assert {row.kind for row in rows} == {"all-reduce"}
  assert sum(row.bytes for row in rows) == sent
