"""A stack of post-norm layers, scanned over stacked parameters or one by one; and the pooler."""

from collections.abc import Callable
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from luke_jax.nn.activations import Activation, activate
from luke_jax.nn.attention import Attention
from luke_jax.nn.layers import KEPT, Dense, Dropout, LayerNorm, Numerics, Remat, constrain
from luke_jax.nn.queries import AttentionSizes, split_queries

# Values that a layer keeps from the forward pass for the backward one.
POLICIES = {
  "dots": jax.checkpoint_policies.save_only_these_names(KEPT),
  "full": jax.checkpoint_policies.nothing_saveable,
}


def remade(layer: type[nn.Module], remat: Remat) -> Any:
  """Returns a class of layers whose backward pass computes again what it does not keep."""
  return layer if remat == "none" else nn.remat(layer, policy=POLICIES[remat], prevent_cse=False)


def over_layers(
  step: Callable[..., tuple[Any, Any]], count: int, *, shared: bool = False, unroll: bool = False
) -> Any:
  """Returns a step as a scan over the parameters of `count` layers, with a dropout key for each.

  The parameters have a leading layer axis or, `shared`, are those of all. CPUs copy those of each
  layer but where the scan is unrolled.
  """
  axes: dict[Any, int] = {"intermediates": 0} if shared else {"intermediates": 0, "params": 0}
  return nn.scan(
    step,
    variable_broadcast="params" if shared else False,
    variable_axes=axes,
    split_rngs={"params": not shared, "dropout": True},
    length=count,
    unroll=count if unroll else 1,
  )


class Mlp(nn.Module):
  """Two linear layers with an activation between."""

  numerics: Numerics
  hidden: int  # F

  @nn.compact
  def __call__(self, x: Float[Array, "*tokens D"]) -> Float[Array, "*tokens D"]:
    """Returns the states of tokens after both."""
    n = self.numerics
    # As rows of one matrix: given B and T, XLA on TPUs reads what is kept of `up` twice, widened.
    rows = x.reshape(-1, x.shape[-1])
    hidden = activate(Dense(n, (self.hidden,), name="up")(rows), n.activation)
    return Dense(n, x.shape[-1:], name="down")(hidden).reshape(x.shape)


class Layer(nn.Module):
  """Attention and a feed-forward network, each added to its input and then normalised."""

  numerics: Numerics
  attention: AttentionSizes
  hidden: int  # F
  mlp_drops: bool = True  # the output of the network is dropped as other states are

  @nn.compact
  def __call__(
    self,
    x: Float[Array, "B T D"],
    word_mask: Bool[Array, "B W"],
    entity_mask: Bool[Array, "B E"],
    bias: Float[Array, "N T T"] | None = None,
  ) -> Float[Array, "B T D"]:
    """Returns the states after the layer; a bias is added to the scores of its attention."""
    n = self.numerics
    y = Attention(n, self.attention, name="attention")(constrain(x), word_mask, entity_mask, bias)
    rate = n.dropout if self.attention.drops_output else 0.0
    x = LayerNorm(n, name="attention_norm")(x + Dropout(rate)(y))
    y = Dropout(n.dropout if self.mlp_drops else 0.0)(Mlp(n, self.hidden, name="mlp")(x))
    x = LayerNorm(n, name="mlp_norm")(x + y)
    self.sow("intermediates", "output", x)
    return x


# Traced once for all layers of a stack, whose shapes are equal.
_Traced = nn.jit(Layer)


class Encoder(nn.Module):
  """Stack of layers, scanned over parameters with a leading layer axis; a dropout key per layer.

  Parameters from `split_layers` run one layer after another: on CPUs, a scan copies those of a
  layer before it uses them. If `shared`, one layer is read over and over (ALBERT).
  """

  numerics: Numerics
  attention: AttentionSizes
  hidden: int  # F
  layers: int  # L
  remat: Remat = "none"
  shared: bool = False
  mlp_drops: bool = True

  @nn.compact
  def __call__(
    self,
    x: Float[Array, "B T D"],
    word_mask: Bool[Array, "B W"],
    entity_mask: Bool[Array, "B E"],
    bias: Float[Array, "N T T"] | None = None,
  ) -> Float[Array, "B T D"]:
    """Returns the states after all layers; sows the input and the output of each layer."""
    self.sow("intermediates", "input", x)
    if self.has_variable("params", "layers_0"):
      for i in range(self.layers):
        module = _Traced(self.numerics, self.attention, self.hidden, name=f"layers_{i}")
        x = module(x, word_mask, entity_mask, bias)
      return x
    arguments = self.numerics, self.attention, self.hidden, self.mlp_drops
    layer = remade(Layer, self.remat)(*arguments, name="layers")
    step = over_layers(
      lambda layer, x: (layer(x, word_mask, entity_mask, bias), None),
      self.layers,
      shared=self.shared,
    )
    return step(layer, x)[0]


def split_layers(tree: dict) -> dict:
  """Returns the parameters of an encoder with an array for each layer and each kernel."""
  count = len(jax.tree.leaves(tree["layers"])[0])
  split = {f"layers_{i}": _layer(tree["layers"], i) for i in range(count)}
  return {name: part for name, part in tree.items() if name != "layers"} | split


def _layer(stacked: dict, i: int) -> dict:
  layer = jax.tree.map(lambda x: x[i], stacked)
  attention = layer["attention"]
  return layer | {"attention": attention | {"query": split_queries(attention["query"])}}


def stack_sown(tree: dict) -> dict:
  """Returns the arrays that layers sowed, stacked as one stack has them."""
  runs = sorted((name for name in tree if name.startswith("from_")), key=_number)
  if runs:
    parts = [_sown(tree[name]["layers"]) for name in runs]
    return {"input": tree["input"], "layers": jax.tree.map(lambda *x: jnp.concatenate(x), *parts)}
  names = sorted((name for name in tree if name.startswith("layers_")), key=_number)
  stacked = jax.tree.map(lambda *x: jnp.stack(x), *(tree[name] for name in names))
  return {name: part for name, part in tree.items() if name not in names} | {"layers": stacked}


def _sown(layers: dict) -> dict:
  """Returns the arrays that layers of every kind sow."""
  return {"output": layers["output"], "attention": {"probs": layers["attention"]["probs"]}}


def _number(name: str) -> int:
  return int(name.rpartition("_")[2])


class Pooler(nn.Module):
  """Linear layer and tanh, or another activation, over the first word's state."""

  numerics: Numerics
  activation: Activation | None = None  # None: tanh in the type of products

  @nn.compact
  def __call__(self, words: Float[Array, "B W D"]) -> Float[Array, "B D"]:
    """Returns the pooled states of texts."""
    x = Dense(self.numerics, words.shape[-1:], name="dense")(words[:, 0])
    return nn.tanh(x) if self.activation is None else activate(x, self.activation)
