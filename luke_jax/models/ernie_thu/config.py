"""Sizes of ERNIE of Tsinghua."""

import dataclasses
import itertools
from typing import TYPE_CHECKING, NamedTuple

from luke_jax.errors import InputError
from luke_jax.models.bert.config import BertConfig
from luke_jax.models.ernie_thu.layers import KINDS, Kind

if TYPE_CHECKING:
  from luke_jax.models.family import Family


class LayerRun(NamedTuple):
  """Consecutive layers of one kind: the number of the first one, their kind and their count."""

  first: int
  kind: Kind
  count: int


@dataclasses.dataclass(frozen=True)
class ErnieThuConfig(BertConfig):
  """Sizes of an ERNIE of Tsinghua; the defaults are those of its authors, over bert-base-uncased.

  A layer is a `sim` of words alone, a `mix` that adds entities to the words, or a `norm` whose
  entities also attend to each other.
  """

  # Kinds of the layers, the missing last ones `sim`; none: the lower half reads words, the last
  # layer of it mixes, and the upper half is `norm`.
  layer_types: tuple[str, ...] = ()
  entity_size: int = 100  # width of the vectors of entities
  num_entity_heads: int = 4  # attention heads of the entities
  fusion_output_act: bool = False  # activation after a layer's last products, as in the paper

  def __post_init__(self) -> None:
    object.__setattr__(self, "layer_types", tuple(self.layer_types))  # a list in config.json
    super().__post_init__()
    known = ", ".join(KINDS)
    for kind in self.layer_types:
      if kind not in KINDS:
        raise InputError(f"layer_types: {kind!r}; expected each to be one of {known}")
    if len(self.layer_types) > self.num_hidden_layers:
      raise InputError(
        f"layer_types: {len(self.layer_types)} of them; expected at most {self.num_hidden_layers},"
        " as num_hidden_layers has it"
      )
    if self.entity_size % self.num_entity_heads:
      raise InputError(
        f"entity_size: {self.entity_size}; expected a multiple of num_entity_heads,"
        f" {self.num_entity_heads}"
      )

  @property
  def family(self) -> "Family":
    """Returns the system that these sizes are of."""
    from luke_jax.models.ernie_thu.family import ERNIE_THU

    return ERNIE_THU

  @property
  def kinds(self) -> tuple[str, ...]:
    """Returns the kind of each layer."""
    count, given = self.num_hidden_layers, self.layer_types
    if not given:
      lower = count // 2
      given = ("sim",) * (lower - 1) + ("mix",) + ("norm",) * (count - max(lower, 1))
    return given + ("sim",) * (count - len(given))

  @property
  def runs(self) -> tuple[LayerRun, ...]:
    """Returns the layers as runs of equal ones."""
    groups = itertools.groupby(enumerate(self.kinds), key=lambda layer: layer[1])
    numbered = [(kind, [number for number, _ in layers]) for kind, layers in groups]
    return tuple(LayerRun(numbers[0], kind, len(numbers)) for kind, numbers in numbered)  # type: ignore[arg-type]
