"""Networks by the names of their classes in config.json, for tests."""

import dataclasses
import functools

import jax

from luke_jax.heads.kinds import kind_of, make_head
from luke_jax.heads.labels import PairHead
from luke_jax.models.network import Network
from luke_jax.models.system import Backbone, Running, Spread
from luke_jax.models.table import SIZES, systems

TINY = SIZES["tiny"]


def network(
  architecture: str = "LukeModel",
  config=TINY,
  *,
  labels: int = 2,
  bias: bool = False,
  spread: Spread | None = None,
  **running,
) -> Network:
  """A network of a class of any system; `running` are the fields of `Running`."""
  (kind,) = (kind for kind in (kind_of(system, architecture) for system in systems()) if kind)
  backbone = Backbone(config, Running(**running), spread or Spread())
  head = make_head(kind, backbone, labels=labels)
  return Network(backbone, head.clone(bias=True) if bias and isinstance(head, PairHead) else head)


@functools.partial(jax.jit, static_argnames="network")
def applied(network: Network, params: dict, inputs: dict) -> dict:
  """The outputs of a network, compiled, which takes less time than its operations one by one."""
  return network.apply({"params": params}, **inputs)


def backbone(config=TINY, **running) -> Backbone:
  """A backbone that runs as told by the fields of `Running`."""
  return Backbone(config, Running(**running))


def tiny(**fields):
  """The tiny LUKE's sizes, changed."""
  return dataclasses.replace(TINY, **fields)
