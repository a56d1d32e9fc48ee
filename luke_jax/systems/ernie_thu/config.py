"""ERNIE of Tsinghua: its sizes, and all that the package knows of it."""

import dataclasses
import itertools
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, NamedTuple

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.models.config_files import OF_TRANSFORMERS, Fixed
from luke_jax.models.head import Head
from luke_jax.models.keys import FIRST_RUN, Key, Keys, linear, norm
from luke_jax.models.shapes import cast_once
from luke_jax.models.system import Decoders, Described, Layout, Recipe, TokenCounts
from luke_jax.systems.bert.config import BertConfig, tables_of_words
from luke_jax.systems.bert.keys import PartNames, keys_of
from luke_jax.systems.ernie_thu.encoder import HEADS, KINDS, ErnieThuEncoder, Kind

_STACK = f"encoder/{FIRST_RUN}/layers"


def _entity_parts(path: str, layer: str) -> Iterator[Key]:
  attention = f"{layer}attention."
  queries = (f"{attention}self_ent.query.weight", f"{attention}self_ent.query.bias")
  yield Key(f"{path}/entity_attention/query/kernel", queries[:1], 1, by_kind=True)
  yield Key(f"{path}/entity_attention/query/bias", queries[1:], by_kind=True)
  yield from linear(f"{path}/entity_attention/key", f"{attention}self_ent.key")
  yield from linear(f"{path}/entity_attention/value", f"{attention}self_ent.value")
  yield from linear(f"{path}/entity_attention/output", f"{attention}output_ent.dense", inputs=2)
  yield from norm(f"{path}/entity_attention_norm", f"{attention}output_ent.LayerNorm")
  yield from linear(f"{path}/mlp/entity_up", f"{layer}intermediate.dense_ent")
  yield from linear(f"{path}/mlp/entity_down", f"{layer}output.dense_ent")
  yield from norm(f"{path}/entity_mlp_norm", f"{layer}output.LayerNorm_ent")


def _own() -> Iterator[Key]:
  yield from _entity_parts(f"ernie_thu/{_STACK}", "bert.encoder.layer.{layer}.")
  yield from linear("aligned_entities/transform", "cls.predictions_ent.transform.dense")
  yield from norm("aligned_entities/norm", "cls.predictions_ent.transform.LayerNorm")


KEYS = keys_of("ernie_thu", PartNames("bert"), stack=_STACK, own=_own())


# The authors' code: Adam of BERT, and a rate that stays after its warm-up.
_AS_BERT: dict[str, Any] = {
  "beta2": 0.999,
  "max_gradient_norm": 1.0,
  "warmup_ratio": 0.1,
  "decay": "constant",
}
RECIPES = {
  "typing": Recipe(2e-5, 16, 10, markers=("。",), **_AS_BERT),  # Open Entity
  "relations": Recipe(2e-5, 32, 10, markers=("#", "$"), **_AS_BERT),  # FewRel
}


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

  name: ClassVar[str] = "ernie_thu"
  title: ClassVar[str] = "ERNIE of Tsinghua"
  module: ClassVar[type] = ErnieThuEncoder
  model_types: ClassVar[tuple[str, ...]] = ("ernie_thu",)
  prefix: ClassVar[str] = "ErnieThu"
  unnamed: ClassVar[str] = "ForPreTraining"
  heads: ClassVar[Mapping[str, type[Head]]] = HEADS
  left_to_right: ClassVar[tuple[str, ...]] = ()
  released_config: ClassVar[tuple[str, str]] = ("ernie_config.json", "layer_types")
  starts_from: ClassVar[tuple[str, ...]] = ("bert",)
  fixed: ClassVar[Fixed] = OF_TRANSFORMERS
  layout: ClassVar[Layout] = Layout(
    words=tables_of_words("ernie_thu"),
    # The reference goes by names, and calls this norm LayerNorm_ent.
    decayed=("entity_mlp_norm/scale",),
  )
  recipes: ClassVar[Mapping[str, Recipe]] = RECIPES

  def __post_init__(self) -> None:
    object.__setattr__(self, "layer_types", tuple(self.layer_types))  # a list in config.json
    super().__post_init__()
    names = ", ".join(KINDS)
    for kind in self.layer_types:
      if kind not in KINDS:
        raise InputError(f"layer_types: {kind!r}; expected each to be one of {names}")
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
  def kinds(self) -> tuple[str, ...]:
    """Returns the kind of each layer."""
    count, kinds = self.num_hidden_layers, self.layer_types
    if not kinds:
      lower = count // 2
      kinds = ("sim",) * (lower - 1) + ("mix",) + ("norm",) * (count - max(lower, 1))
    return kinds + ("sim",) * (count - len(kinds))

  @property
  def runs(self) -> tuple[LayerRun, ...]:
    """Returns the layers as runs of equal ones."""
    groups = itertools.groupby(enumerate(self.kinds), key=lambda layer: layer[1])
    numbered = [(kind, [number for number, _ in layers]) for kind, layers in groups]
    return tuple(LayerRun(numbers[0], kind, len(numbers)) for kind, numbers in numbered)  # type: ignore[arg-type]

  @classmethod
  def keys(cls, kind: str) -> Keys:
    """Returns the names of tensors on disk."""
    return KEYS

  @classmethod
  def takes(cls, kind: str) -> bool:
    """Returns true if a kind of head can be put on the encoder."""
    return kind != "next_sentence"

  @property
  def decoders(self) -> Decoders:
    """Returns the decoders of masked words and hidden entities."""
    return Decoders(tied=self.tie_word_embeddings, vectors=self.entity_size)

  def products(self, counts: TokenCounts) -> Mapping[str, float]:
    """Returns the products of a BERT, and those of the entities in layers that have any."""
    slots, k = 2.0 * counts.sequences * counts.words, self.entity_size
    fused = sum(run.count for run in self.runs if run.kind != "sim")
    attending = sum(run.count for run in self.runs if run.kind == "norm")
    products = dict(super().products(counts))
    products["ernie_thu/encoder"] += slots * fused * 2 * k * self.intermediate_size
    products["ernie_thu/encoder"] += slots * attending * 4 * k * k
    products[""] += slots * attending * 2 * counts.words * k
    return products

  @property
  def unread(self) -> tuple[str, ...]:
    """Returns the paths of parameters of the entities' last states, which no head reads."""
    run = next((run for run in reversed(self.runs) if run.kind != "sim"), None)
    if run is None:
      return ()
    last = f"ernie_thu/encoder/from_{run.first}/layers[{run.count - 1}:{run.count}]"
    return (f"{last}/mlp/entity_down", f"{last}/entity_mlp_norm")

  for_prediction = staticmethod(cast_once)

  def read_for(self, trained: "ErnieThuConfig") -> "ErnieThuConfig":
    """Returns the sizes of files with the kinds of layers that a run trains."""
    return dataclasses.replace(self, layer_types=trained.layer_types)

  @property
  def about(self) -> str:
    """Returns a description for model cards."""
    return (
      "An ERNIE of Tsinghua: a BERT that also reads vectors of a knowledge graph's entities\n"
      "([Zhang et al., ACL 2019](https://aclanthology.org/P19-1139/))"
    )

  @property
  def not_in_transformers(self) -> str:
    """Returns why transformers has no class for it."""
    return "transformers has no ERNIE of Tsinghua"

  @classmethod
  def read_config(cls, raw: dict[str, object], path: Path) -> Described:
    """Returns the contents of a config of an ERNIE, or of a BERT that an ERNIE starts from."""
    read = super().read_config({"layer_norm_eps": cls.layer_norm_eps} | raw, path)
    if raw.get("model_type") not in cls.starts_from:
      return read
    return Described(read.config, f"{cls.prefix}{cls.unnamed}", rest=read.rest)

  @classmethod
  def write_config(cls, described: Described) -> dict[str, Any]:
    """Returns a config.json in which the kind of every layer is written out."""
    config: Any = described.config
    return super().write_config(described) | {"layer_types": list(config.kinds)}


SIZES = {"ernie-thu-base": ErnieThuConfig()}
