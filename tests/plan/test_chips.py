import importlib.util

import pytest

from luke_jax.errors import InputError
from luke_jax.plan.chips import devices, parse_topology


@pytest.mark.parametrize(
  ("text", "count"),
  [("v5e:16x16", 256), ("v5e:2x4", 8), ("v6e:1x1", 1), ("v5p:4x4x8", 128), ("v4:2x2x1", 4)],
)
def test_topologies(text, count):
  topology = parse_topology(text)
  assert (topology.devices, str(topology)) == (count, text)


def test_several_slices():
  topology = parse_topology("v5e:16x16", 4)
  assert (topology.devices, topology.hosts) == (1024, 64)
  assert (str(topology), topology.slice) == ("4 slices v5e:16x16", "v5e:16x16")
  for text, slices in (("v5e:2x2", 0), ("v4:2x2x1", 2)):
    expected = f"slices: {slices} of .*; expected 1, or several of v5e, v6e, v5p"
    with pytest.raises(InputError, match=expected):
      parse_topology(text, slices)


@pytest.mark.parametrize(
  ("text", "expected"),
  [
    ("v9:2x2", "expected one of v5e, v6e, v5p, v4, as in v5e:16x16"),
    ("", "expected one of"),
    ("v5e", "expected 2 sizes, as in v5e:4x4"),
    ("v5e:8", "expected 2 sizes"),
    ("v5e:0x4", "expected 2 sizes"),
    ("v5e:-2x4", "expected 2 sizes"),
    ("v5p:4x4", "expected 3 sizes, as in v5p:4x4x4"),
    ("v5e:3x4", "expected even first two sizes"),
    ("v5e:32x32", "expected at most 256"),
  ],
)
def test_nonsense_is_refused(text, expected):
  with pytest.raises(InputError, match=expected) as fault:
    parse_topology(text)
  assert "\n" not in str(fault.value)


def test_libtpu_missing(monkeypatch):
  monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
  with pytest.raises(InputError, match="libtpu: not installed; expected"):
    devices(parse_topology("v5e:2x4"))
