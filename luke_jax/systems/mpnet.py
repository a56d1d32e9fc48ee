"""MPNet: a BERT whose attention knows how far apart two words are (Song et al., NeurIPS 2020)."""

import dataclasses
import math
from typing import Any, ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from luke_jax.models.config_files import OF_TRANSFORMERS, Fixed
from luke_jax.models.keys import Keys, LayerNames, table
from luke_jax.models.system import Layout
from luke_jax.nn.layers import embedding
from luke_jax.systems.bert.config import BertEncoder, RobertaConfig, tables_of_words
from luke_jax.systems.bert.keys import OF_ROBERTA, PartNames, keys_of

BUCKETS, FARTHEST = 32, 128  # of distances: half of them each way, the last from this distance on
_LAYER = LayerNames(
  *(("attention.attn.q",), "attention.attn.k", "attention.attn.v", "attention.attn.o"),
  *("attention.LayerNorm", "intermediate.dense", "output.dense", "output.LayerNorm"),
)


def buckets(length: int) -> Int[Array, "W W"]:
  """Returns the bucket of each pair of words: exact when near, by the logarithm when far."""
  places = jnp.arange(length)
  ahead = places[None] - places[:, None]
  half, near = BUCKETS // 2, BUCKETS // 4
  apart = jnp.abs(ahead)
  steps = jnp.log(jnp.maximum(apart, 1) / near) / math.log(FARTHEST / near) * (half - near)
  far = jnp.minimum(near + steps.astype(jnp.int32), half - 1)
  return jnp.where(ahead > 0, half, 0) + jnp.where(apart < near, apart, far)


class MpnetEncoder(BertEncoder):
  """States of words in context, whose distances add to all scores."""

  def setup(self) -> None:
    """Makes the parts of a BERT, and a table of distances."""
    super().setup()
    c, n = self.backbone.config, self.backbone.numerics
    self.distance_bias = embedding(n, BUCKETS, c.num_attention_heads)

  def bias(self, length: int) -> Float[Array, "N W W"]:
    """Returns what the distance of two words adds to their scores."""
    return self.distance_bias(buckets(length)).transpose(2, 0, 1)


@dataclasses.dataclass(frozen=True)
class MpnetConfig(RobertaConfig):
  """Sizes of an MPNet; the defaults are mpnet-base."""

  vocab_size: int = 30527  # words, special ones included
  layer_norm_eps: float = 1e-12  # added to the variance in layer norms

  # One value each, of which its files say nothing.
  type_vocab_size: ClassVar[int] = 0  # pyrefly: ignore[bad-override]
  classifier_dropout: ClassVar[None] = None  # pyrefly: ignore[bad-override]

  name: ClassVar[str] = "mpnet"
  title: ClassVar[str] = "MPNet"
  module: ClassVar[type] = MpnetEncoder
  model_types: ClassVar[tuple[str, ...]] = ("mpnet",)
  prefix: ClassVar[str] = "MPNet"
  names: ClassVar[PartNames] = dataclasses.replace(
    OF_ROBERTA, encoder="mpnet", layer=_LAYER, renames=()
  )
  left_to_right: ClassVar[tuple[str, ...]] = ()
  # The reference counts in so many buckets, whatever a file says.
  fixed: ClassVar[Fixed] = {**OF_TRANSFORMERS, "relative_attention_num_buckets": BUCKETS}
  layout: ClassVar[Layout] = Layout(
    words=tables_of_words("mpnet"), decayed=("masked_words/norm/scale",)
  )
  paper: ClassVar[str] = "[Song et al., NeurIPS 2020](https://arxiv.org/abs/2004.09297)"

  @classmethod
  def keys(cls, kind: str) -> Keys:
    """Returns the names of tensors on disk."""
    own = table("mpnet/distance_bias", "mpnet.encoder.relative_attention_bias")
    return keys_of(cls.name, cls.names, kind, own=own)


SIZES: dict[str, Any] = {"mpnet-base": MpnetConfig()}
