"""Heads by their kind, and one that computes nothing; the classes that a system has for them."""

from typing import Any

import jax
import jax.numpy as jnp

from luke_jax.heads import facts, labels, linking, masked, matching
from luke_jax.heads.attributes import head as attributes
from luke_jax.models.head import Head, Outputs
from luke_jax.models.network import Network
from luke_jax.models.system import NONE, Backbone, States, System, Tables

HEADS: dict[str, type[Head]] = {
  head.kind: head
  for heads in (
    *(masked.HEADS, labels.HEADS, attributes.HEADS),
    *(linking.HEADS, matching.HEADS, facts.HEADS),
  )
  for head in heads
}


def heads_of(system: type[System]) -> dict[str, type[Head]]:
  """Returns the heads that a system can have, by their kind."""
  heads = HEADS | dict(system.heads)
  return {kind: head for kind, head in heads.items() if system.takes(kind)}


def class_names(system: type[System]) -> dict[str, str]:
  """Returns the names of a system's classes in config.json, by the kind of their head."""
  heads = heads_of(system).items()
  return {NONE: f"{system.prefix}Model"} | {
    kind: head.class_name(system.prefix) for kind, head in heads
  }


def kind_of(system: type[System], architecture: str) -> str | None:
  """Returns the kind of head of a class of a system; None if it has no such class."""
  kinds = (kind for kind, name in class_names(system).items() if name == architecture)
  return next(kinds, None)


def make_head(kind: str, backbone: Backbone, *, labels: int = 2) -> Head | None:
  """Returns the head of a kind for a backbone, with the usual settings."""
  system: type[System] = type(backbone.config)
  return None if kind == NONE else heads_of(system)[kind].fresh(backbone, labels)


class Bare(Head):
  """Stands for a head of some kind, which decides on the encoder's parts."""

  kind: str  # pyrefly: ignore[bad-override]
  pooled: bool  # pyrefly: ignore[bad-override]

  def __call__(self, states: States, tables: Tables) -> Outputs:
    """Returns no outputs."""
    return {}

  def loss(self, outputs: Outputs, *labels: Any, **named: Any) -> jax.Array:
    """Returns no loss: there are no outputs."""
    return jnp.zeros(())


def without_head(network: Network, params: dict) -> tuple[Network, dict]:
  """Returns the encoder alone, which reads texts that the head has no use for."""
  backbone, head = network.backbone, network.head
  name = backbone.config.name
  pooled = head is not None and head.pooled
  return Network(backbone, Bare(backbone.numerics, network.kind, pooled)), {name: params[name]}
