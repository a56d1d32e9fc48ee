"""TransE: vectors of a graph's entities and relations, learned from its triples.

The system of Bordes et al. (2013), with the negatives of Sun et al. (2019).
"""

import dataclasses
from typing import ClassVar, Literal

from luke_jax.models.config_files import check_fields
from luke_jax.models.system import Decoders, Layout, ModelConfig


@dataclasses.dataclass(frozen=True)
class TransEConfig(ModelConfig):
  """Sizes of the two tables, and the norm that distances have.

  Without an encoder of texts it has no files of Hugging Face and no heads, and does no other task.
  """

  entity_vocab_size: int = 1
  relation_vocab_size: int = 1
  hidden_size: int = 1000  # width of a vector
  norm: Literal[1, 2] = 1

  name: ClassVar[str] = "transe"
  title: ClassVar[str] = "TransE"
  layout: ClassVar[Layout] = Layout(entities=("entity",))

  def __post_init__(self) -> None:
    check_fields(self)

  @property
  def decoders(self) -> Decoders:
    """Returns the size of the table that is spread over the mesh."""
    return Decoders(entities=self.entity_vocab_size)
