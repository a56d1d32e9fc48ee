"""Sizes of ERNIE of Baidu."""

import dataclasses
from typing import TYPE_CHECKING

from luke_jax.models.bert.config import BertConfig
from luke_jax.nn.activations import Activation

if TYPE_CHECKING:
  from luke_jax.models.family import Family


@dataclasses.dataclass(frozen=True)
class ErnieBaiduConfig(BertConfig):
  """Sizes of an ERNIE of Baidu; the defaults are ERNIE 1.0.

  Its table of words has more rows than its vocabulary of 17,964 words.
  """

  vocab_size: int = 18000  # words, special ones included
  max_position_embeddings: int = 513  # rows of the position table
  hidden_act: Activation = "relu"  # activation
  layer_norm_eps: float = 1e-5  # added to the variance in layer norms

  @property
  def family(self) -> "Family":
    """Returns the system that these sizes are of."""
    from luke_jax.models.ernie_baidu.family import ERNIE_BAIDU

    return ERNIE_BAIDU
