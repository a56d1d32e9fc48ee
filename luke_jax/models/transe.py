"""TransE (Bordes et al. 2013): a vector for each entity and each relation, h + r near t."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, Literal

from luke_jax.models.checks import check_fields
from luke_jax.models.family import Decoders, Layout


@dataclasses.dataclass(frozen=True)
class TransEConfig:
  """Sizes of the two tables, and the norm that distances have."""

  entity_vocab_size: int = 1
  relation_vocab_size: int = 1
  hidden_size: int = 1000  # width of a vector
  norm: Literal[1, 2] = 1

  def __post_init__(self) -> None:
    check_fields(self)

  @property
  def family(self) -> "Tables":
    """Returns the facts that the engine reads of a system."""
    return TRANSE


@dataclasses.dataclass(frozen=True)
class Tables:
  """Facts of a system that is tables only: the part of a `Family` that the engine reads.

  Without an encoder of texts it has no files of Hugging Face and no heads, and does no other task.
  """

  name: str
  title: str
  config: type
  layout: Layout
  decoders: Callable[[Any], Decoders]
  # Distances are no products of matrices, so a plan counts none.
  products: Callable[[Any, Any], Mapping[str, float]] = lambda config, counts: {"": 0.0}


TRANSE = Tables(
  name="transe",
  title="TransE",
  config=TransEConfig,
  layout=Layout(entities=("entity",)),
  decoders=lambda config: Decoders(entities=config.entity_vocab_size),
)
