"""Networks: an encoder with a head on it, under Hugging Face's names for inputs and outputs."""

import dataclasses
import functools
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp

from luke_jax.errors import InputError
from luke_jax.models.head import Head, Outputs
from luke_jax.models.system import NONE, Backbone
from luke_jax.nn.layers import shapes_alone


class Network(nn.Module):
  """Module that maps keyword inputs to a dictionary of outputs, both named as in Hugging Face.

  Only `input_ids` (B, W) must be given. Inputs that the encoder does not read go to the head.
  Without a head the outputs are the states. Dropout is on when `apply` has a "dropout" key. The
  encoder's parameters are at the name of the system, those of the head beside it.
  """

  backbone: Backbone
  head: Head | None = None

  def __post_init__(self) -> None:
    """Raises InputError for a head that is none."""
    head, lacking = self.head, ""
    if not isinstance(head, Head | None):
      lacking = "head"
    elif head is not None:
      lacking = "kind" if not head.kind else "loss" if type(head).loss is Head.loss else ""
    if lacking:
      expected = f"a {Head.__module__}.{Head.__name__} with its kind and its loss"
      raise InputError(f"head {type(head).__name__}: no {lacking}; expected {expected}")
    super().__post_init__()

  def setup(self) -> None:
    """Makes the encoder; the head's parameters are those of the network."""
    system = self.backbone.config
    self.encoder = system.module(self.backbone, system.pooled(self.head), name=system.name)
    if self.head is not None:
      nn.share_scope(self, self.head)

  @property
  def kind(self) -> str:
    """Returns the kind of the head."""
    return NONE if self.head is None else self.head.kind

  @property
  def choices(self) -> bool:
    """Returns true if every input has an axis of choices after the batch."""
    return self.head is not None and self.head.choices

  @property
  def places(self) -> tuple[str, ...]:
    """Returns the inputs of the head with the places of entities among the words."""
    return () if self.head is None else self.head.places

  @property
  def own_inputs(self) -> Mapping[str, tuple[int, ...]]:
    """Returns the shapes, after the batch, of the inputs that the head alone reads."""
    return {} if self.head is None else self.head.own_inputs

  def __call__(self, **inputs: jax.Array) -> Outputs:
    """Returns last_hidden_state (B, W, D), the other states there are, and the head's outputs."""
    shape = inputs["input_ids"].shape[:-1]
    if self.choices:
      inputs = {name: x.reshape(-1, *x.shape[2:]) for name, x in inputs.items()}
    names = self.backbone.config.inputs
    read = {name: x for name, x in inputs.items() if name in names}
    rest = {name: x for name, x in inputs.items() if name not in names}
    if self.head is not None:
      read |= self.head.to_encoder(**rest)
    states = self.encoder(**read)
    outputs = {name: x for name, x in zip(STATES, states, strict=True) if x is not None}
    if self.head is None:
      if rest:
        raise TypeError(f"unexpected inputs: {', '.join(rest)}")
      return outputs
    rest |= {name: inputs[name] for name in self.head.shared if name in inputs}
    outputs |= self.head(states, self.encoder.tables(), **rest)
    if self.choices:
      outputs["logits"] = outputs["logits"].reshape(shape)
    return outputs

  def loss(self, outputs: Outputs, *labels: jax.Array, **named: jax.Array) -> jax.Array:
    """Returns the head's loss."""
    if self.head is None:
      raise TypeError("a network without a head has no loss")
    return self.head.loss(outputs, *labels, **named)


STATES = (
  "last_hidden_state",
  "entity_last_hidden_state",
  "pooler_output",
  "slot_last_hidden_state",
)


def in_order(outputs: Outputs) -> OrderedDict[str, jax.Array]:
  """Returns outputs in the order of their use: those of the head as it has them, then states.

  JAX sorts the names of a plain dictionary that leaves a program.
  """
  names = sorted(outputs, key=lambda name: STATES.index(name) if name in STATES else -1)
  return OrderedDict((name, outputs[name]) for name in names)


def on_backbone(network: Network, backbone: Backbone) -> Network:
  """Returns the network with its head on another backbone."""
  return Network(backbone, network.head and network.head.on(backbone))


def example_inputs(network: Network) -> dict[str, jax.Array]:
  """Returns the smallest inputs that touch every parameter of the network."""
  backbone = network.backbone
  inputs = {"input_ids": jnp.full((1, 4), backbone.config.pad_token_id)}
  if backbone.entities:
    inputs["entity_ids"] = jnp.zeros((1, 2), int)
    inputs["entity_position_ids"] = jnp.zeros((1, 2, 1), int)
  places = network.places
  if len(places) > 1 or not backbone.entities:
    inputs |= {name: jnp.zeros((1, 2), int) for name in places}
  for name, shape in network.own_inputs.items():
    inputs[name] = jnp.zeros((1, *shape), int)
  if network.choices:
    inputs = {name: x[:, None] for name, x in inputs.items()}
  return inputs


def apply(
  network: Network, params: dict, inputs: Mapping[str, jax.Array], key: jax.Array | None = None
) -> Outputs:
  """Returns a network's outputs by their names, with dropout if there is a key."""
  run: Any = network.apply
  if key is not None:
    return run({"params": params}, **inputs, rngs={"dropout": key})

  def read(inputs: Mapping[str, jax.Array]) -> Outputs:
    return run({"params": params}, **inputs)

  return read(inputs) if network.head is None else network.head.predicted(read, inputs)


def initial_params(network: Network, key: jax.Array) -> dict:
  """Returns fresh parameters: normal(0, initializer_range), norms at one, biases at zero."""
  # Flax gives modules a hash that type checkers do not see.
  return _initial(network, key)  # pyrefly: ignore[bad-argument-type]


@functools.partial(jax.jit, static_argnames="network")
def _initial(network: Network, key: jax.Array) -> dict:
  init: Any = network.init
  return init(key, **example_inputs(network))["params"]


def abstract_params(network: Network) -> dict:
  """Returns the shapes and types of the parameters, without making them."""
  # Flax gives modules a hash that type checkers do not see.
  shapes = _shapes(network)  # pyrefly: ignore[bad-argument-type]
  return jax.tree.map(lambda shape: shape, shapes)  # a tree of the caller's own


@functools.lru_cache(32)
@shapes_alone()
def _shapes(network: Network) -> dict:
  return jax.eval_shape(network.init, jax.random.key(0), **example_inputs(network))["params"]


def prepared(network: Network, params: dict) -> tuple[Network, dict]:
  """Returns the network and its parameters as they predict fastest, with the same results."""
  backbone = network.backbone
  system = backbone.config
  parts = system.for_prediction(params[system.name], backbone.numerics.dtype)
  if jax.default_backend() == "cpu":
    network = on_backbone(network, dataclasses.replace(backbone, on_cpu=True))
  return network, jax.device_put(params | {system.name: parts})
