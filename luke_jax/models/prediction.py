"""Networks as they predict: without gradients, all parameters on one device."""

import dataclasses

import jax

from luke_jax.models.network import Network, on_backbone


def prepared(network: Network, params: dict) -> tuple[Network, dict]:
  """Returns the network and its parameters as they predict fastest, with the same results."""
  backbone = network.backbone
  system = backbone.config
  parts = system.for_prediction(params[system.name], backbone.numerics.dtype)
  if jax.default_backend() == "cpu":
    network = on_backbone(network, dataclasses.replace(backbone, on_cpu=True))
  return network, jax.device_put(params | {system.name: parts})
