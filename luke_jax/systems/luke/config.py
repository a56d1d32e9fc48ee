"""LUKE and mLUKE: their sizes, and all that the package knows of them."""

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.models import config_files, shapes
from luke_jax.models.head import Head
from luke_jax.models.keys import Keys
from luke_jax.models.shapes import word_products
from luke_jax.models.system import Decoders, Described, Layout, Recipe, System, TokenCounts
from luke_jax.nn.activations import Activation
from luke_jax.nn.layers import Numerics
from luke_jax.systems.luke.encoder import ENTITY_INPUTS, WORD_INPUTS, LukeEncoder
from luke_jax.systems.luke.keys import KEYS
from luke_jax.text.rows import EntityReading

# transformers has no LUKE with BERT's positions, and none whose entities are independent.
LUKE_TYPE, LUKE_WITH_BERT, LUKE_INDEPENDENT = "luke", "luke-bert", "luke-independent"
STARTS_FROM = ("roberta", "xlm-roberta", "bert")
UNTRAINED = ("luke/pooler",)  # no head of the paper's tasks reads it
# Parameters that the first stage of the paper's pretraining does not train (appendix A).
NOT_OF_ENTITIES = ("luke/embeddings", "luke/encoder", "luke/pooler", "masked_words")

# The paper's appendix.
RECIPES = {
  "typing": Recipe(1e-5, 4, 3, UNTRAINED),
  "relations": Recipe(1e-5, 32, 5, UNTRAINED),
  "ner": Recipe(1e-5, 8, 5, UNTRAINED),
  "cloze": Recipe(1e-5, 32, 2, UNTRAINED),
  # The head of questions has no pooler; the entity table is not fine-tuned.
  "qa": Recipe(1.5e-5, 48, 2, ("luke/entity_embeddings/entity",)),
  # Not of the paper, which has no such tasks: as in BERT's.
  "classification": Recipe(3e-5, 32, 3),
  "tagging": Recipe(3e-5, 32, 3),
}


@dataclasses.dataclass(frozen=True)
class LukeConfig(System):
  """Sizes of a LUKE, named as in Hugging Face's config.json.

  The defaults are luke-base as it was released. (The defaults of Hugging Face's own `LukeConfig`
  fit no released model.)
  """

  vocab_size: int = 50267  # words, special ones included
  entity_vocab_size: int = 500000  # 0: words only
  hidden_size: int = 768  # width of the model
  entity_emb_size: int = 256  # width of an entity embedding
  num_hidden_layers: int = 12  # layers
  num_attention_heads: int = 12  # attention heads
  intermediate_size: int = 3072  # width between the two products of a layer
  max_position_embeddings: int = 514  # rows of the position table
  type_vocab_size: int = 1  # types of tokens
  hidden_act: Activation = "gelu"  # activation
  hidden_dropout_prob: float = 0.1  # share of the values of states that are dropped
  attention_probs_dropout_prob: float = 0.1  # share of the attention probabilities that are dropped
  classifier_dropout: float | None = None  # None: as hidden_dropout_prob
  initializer_range: float = 0.02  # standard deviation of fresh weights
  layer_norm_eps: float = 1e-5  # added to the variance in layer norms
  # Four queries, by the kinds of both tokens (paper, section 3.2).
  use_entity_aware_attention: bool = True
  pad_token_id: int = 1  # id of padding
  bos_token_id: int = 0  # id that opens a text
  eos_token_id: int = 2  # id that ends a text
  # Its row learns nothing from look-ups, as in the reference; None: every row learns. In lite
  # models row 0 is [MASK].
  entity_padding_id: int | None = 0
  bert_model_name: str | None = None  # the language model it started from
  tie_word_embeddings: bool = True  # transformers 5 can train the decoder apart from the table
  tie_entity_embeddings: bool = True  # the same of entities; only the tensors of a file say so
  cls_entity_prediction: bool = False  # pretraining also regresses the page's own entity
  # Counted as in RoBERTa, after its pad id, or as in BERT, from 0.
  word_positions: Literal["roberta", "bert"] = "roberta"
  # Words ask words alone and an entity the words and itself, so that its state does not depend on
  # which entities are beside it. Not of the paper.
  independent_entities: bool = False

  name: ClassVar[str] = "luke"
  title: ClassVar[str] = "LUKE"
  module: ClassVar[type] = LukeEncoder
  model_types: ClassVar[tuple[str, ...]] = (LUKE_TYPE, LUKE_WITH_BERT, LUKE_INDEPENDENT)
  prefix: ClassVar[str] = "Luke"
  head_classes: ClassVar[tuple[str, ...]] = ("entity", "pair", "span")
  fixed: ClassVar[config_files.Fixed] = config_files.OF_TRANSFORMERS
  starts_from: ClassVar[tuple[str, ...]] = STARTS_FROM
  recipes: ClassVar[Mapping[str, Recipe]] = RECIPES
  adapters: ClassVar[bool] = True
  markers: ClassVar[bool] = True
  layout: ClassVar[Layout] = Layout(
    words=("luke/embeddings/word/embedding", "masked_words/bias", "word_decoder/embedding"),
    entities=(
      "luke/entity_embeddings/entity/embedding",
      "masked_entities/bias",
      "entity_decoder/embedding",
    ),
    # The reference goes by names, and RoBERTa's head calls its norm layer_norm, not LayerNorm.
    decayed=("masked_words/norm/scale",),
  )

  def __post_init__(self) -> None:
    config_files.check_config(self, may_be_zero=("entity_vocab_size",))

  @property
  def room_for_words(self) -> int:
    """Returns the most words of a text: RoBERTa's first positions belong to padding."""
    before = self.pad_token_id + 1 if self.word_positions == "roberta" else 0
    return self.max_position_embeddings - before

  @classmethod
  def keys(cls, kind: str) -> Keys:
    """Returns the names of tensors on disk."""
    return KEYS

  @classmethod
  def pooled(cls, head: Head | None) -> bool:
    """Returns true where a head reads the pooled state, or transformers' class has a pooler."""
    return head is None or head.pooled or head.kind in ("masked", "cloze", *cls.head_classes)

  @property
  def inputs(self) -> tuple[str, ...]:
    """Returns the names of the encoder's inputs: without entities, of words alone."""
    return WORD_INPUTS + (ENTITY_INPUTS if self.entity_vocab_size else ())

  @property
  def numerics(self) -> Numerics:
    """Returns the numbers that all layers share."""
    return Numerics(
      self.initializer_range,
      self.layer_norm_eps,
      self.hidden_dropout_prob,
      self.hidden_act,
      classifier_dropout=self.classifier_dropout,
    )

  @property
  def feed_forward_width(self) -> int:
    """Returns the width between the two products of a layer."""
    return self.intermediate_size

  @property
  def entity_aware(self) -> bool:
    """Returns true if words and entities ask with queries of their own (paper §3.2)."""
    return self.use_entity_aware_attention

  @property
  def entity_reading(self) -> EntityReading:
    """Returns how entities are read: beside the words, or after them, if at all."""
    usual = super().entity_reading
    return "independent" if usual == "attended" and self.independent_entities else usual

  @property
  def entity_width(self) -> int:
    """Returns the width of the vectors that entity tokens may be given as."""
    return self.entity_emb_size if self.entity_vocab_size else 0

  @property
  def started_from(self) -> str | None:
    """Returns the name of the language model that its authors began with; None: unknown."""
    return self.bert_model_name

  @property
  def decoders(self) -> Decoders:
    """Returns the decoders of masked tokens."""
    page = self.entity_emb_size if self.cls_entity_prediction else 0
    return Decoders(
      tied=self.tie_word_embeddings,
      # In RoBERTa's head it is always this one, in BERT's that of the layers.
      words_activation="gelu" if self.word_positions == "roberta" else None,
      entities=self.entity_vocab_size,
      entities_tied=self.tie_entity_embeddings,
      page_width=page,
    )

  def products(self, counts: TokenCounts) -> Mapping[str, float]:
    """Returns the multiplications and additions of a forward pass, by the path of their weights."""
    d, k = self.hidden_size, self.entity_emb_size
    words, entities = counts.words, counts.entities
    tokens = counts._replace(words=words + entities)
    products = dict(word_products("luke", self, tokens))
    each = 2.0 * counts.sequences * self.num_hidden_layers * d
    if self.use_entity_aware_attention:  # a second query, of tokens that ask both kinds
      twice = tokens.words if entities and not self.independent_entities else entities
      products["luke/encoder"] += each * twice * d
    if self.independent_entities:  # no product asks an entity
      products[""] -= each * 2 * tokens.words * entities
    decoder = "luke/entity_embeddings/entity" if self.tie_entity_embeddings else "entity_decoder"
    projected = 2.0 * counts.sequences * counts.entities * k * d
    return products | {
      "luke/entity_embeddings/projection": projected if k != d else 0.0,
      decoder: 2.0 * counts.masked_entities * k * self.entity_vocab_size,
      "masked_entities/transform": 2.0 * counts.masked_entities * d * k,
      "page_entity": 2.0 * counts.sequences * d * k if self.cls_entity_prediction else 0.0,
    }

  for_prediction = staticmethod(shapes.for_prediction)

  def with_entities(self, size: int, padding_id: int | None) -> "LukeConfig":
    """Returns the sizes with another entity vocabulary, or of words alone."""
    if not size:
      return dataclasses.replace(
        self, entity_vocab_size=0, use_entity_aware_attention=False, independent_entities=False
      )
    # A lite model's row 0 is [MASK], which must learn.
    padding_id = None if self.entity_padding_id is None else padding_id
    return dataclasses.replace(self, entity_vocab_size=size, entity_padding_id=padding_id)

  @property
  def for_fine_tuning(self) -> "LukeConfig":
    """Returns the sizes with four queries: pretraining has the original attention (paper §3.2)."""
    return dataclasses.replace(self, use_entity_aware_attention=self.entity_vocab_size > 0)

  def read_for(self, trained: "LukeConfig") -> "LukeConfig":
    """Returns the sizes of files with the attention that a run trains."""
    return dataclasses.replace(
      self,
      use_entity_aware_attention=trained.use_entity_aware_attention,
      independent_entities=trained.independent_entities,
    )

  @property
  def about(self) -> str:
    """Returns a description for model cards."""
    attention = "entity-aware" if self.use_entity_aware_attention else "the original"
    independent = (
      ".\nNo token attends to an entity but that entity itself" if self.independent_entities else ""
    )
    return (
      f"A LUKE: a transformer over words and entities with {attention} self-attention\n"
      f"([Yamada et al., EMNLP 2020](https://aclanthology.org/2020.emnlp-main.523/)){independent}"
    )

  @property
  def not_in_transformers(self) -> str:
    """Returns why transformers has no class for it; "" if it has."""
    if self.independent_entities:
      return "transformers has no LUKE whose entities are independent of each other"
    bert = self.word_positions == "bert"
    return "transformers has no LUKE with BERT's positions" if bert else ""

  @classmethod
  def read_config(cls, raw: dict[str, object], path: Path) -> Described:
    """Returns the contents of a LUKE's config.json, or of that of a model that it starts from."""
    model_type, fields = raw["model_type"], dict(raw)
    architecture, labels = config_files.architecture_in(raw, path, "LukeModel"), ()
    if model_type in STARTS_FROM:
      fields |= {"entity_vocab_size": 0, "use_entity_aware_attention": False}
      architecture = "LukeForMaskedLM"
    elif "entity_vocab_size" not in raw:
      raise InputError(f"{path}: entity_vocab_size: missing; expected a whole number")
    else:
      labels = config_files.labels_in(raw, path)
    if model_type in ("bert", LUKE_WITH_BERT):
      fields["word_positions"] = "bert"
    config = config_files.sizes_from(cls, fields, path)
    return Described(config, architecture, labels, len(labels) or 2, config_files.rest_of(cls, raw))

  @classmethod
  def read_archive(cls, raw: dict[str, object], path: Path) -> Described:
    """Returns the contents of the metadata.json of the authors' archives, of pretrained models."""
    model = raw.get("model_config")
    if not isinstance(model, dict):
      raise InputError(f"{path}: model_config: missing; expected an object")
    config_files.check_fixed(model, config_files.OF_TRANSFORMERS, f"{path}: model_config.")
    base = str(model.get("bert_model_name", ""))
    roberta = "roberta" in base
    defaults = {
      "entity_emb_size": model.get("hidden_size"),  # archives older than the factorisation
      "pad_token_id": 1 if roberta else 0,
      "use_entity_aware_attention": False,  # the archives were pretrained with the original one
    }
    fields = defaults | {k: v for k, v in model.items() if v is not None}
    fields["word_positions"] = "roberta" if roberta else "bert"
    if "entity_vocab_size" not in model:
      raise InputError(f"{path}: model_config.entity_vocab_size: missing")
    config = config_files.sizes_from(cls, fields, path)
    return Described(config, "LukeForMaskedLM", rest=config_files.rest_of(cls, model))

  @classmethod
  def write_config(cls, described: Described) -> dict[str, Any]:
    """Returns the config.json that both majors of transformers read."""
    config: Any = described.config
    without = ["tie_entity_embeddings"]
    if config.independent_entities:
      kind = LUKE_INDEPENDENT
    else:
      kind = LUKE_TYPE if config.word_positions == "roberta" else LUKE_WITH_BERT
      without += ["word_positions", "independent_entities"]
    entries = config_files.config_json(described, kind, without)
    # To transformers one entry says both.
    both = config.tie_word_embeddings and config.tie_entity_embeddings
    return entries | {"tie_word_embeddings": both}


_LARGE: dict[str, Any] = {
  "hidden_size": 1024,
  "num_hidden_layers": 24,
  "num_attention_heads": 16,
  "intermediate_size": 4096,
}
_MLUKE: dict[str, Any] = {
  "vocab_size": 250004,
  "entity_vocab_size": 1200001,
  "use_entity_aware_attention": False,
}
# Each with the language model it starts from, and where it differs from luke-base.
_RELEASED: dict[str, tuple[str, dict[str, Any]]] = {
  "luke": ("roberta", {}),
  "mluke": ("xlm-roberta", _MLUKE),
}


def _sizes() -> dict[str, LukeConfig]:
  sizes = {}
  for name, (base, fields) in _RELEASED.items():
    for size, shape in (("base", {}), ("large", _LARGE)):
      config = LukeConfig(**fields, **shape, bert_model_name=f"{base}-{size}")
      sizes[f"{name}-{size}"] = config
      sizes[f"{name}-{size}-lite"] = dataclasses.replace(config, entity_vocab_size=4)
  sizes["tiny"] = LukeConfig(
    vocab_size=1000,
    entity_vocab_size=200,
    hidden_size=64,
    entity_emb_size=32,
    num_hidden_layers=2,
    num_attention_heads=2,
    intermediate_size=128,
  )
  return sizes


SIZES: dict[str, LukeConfig] = _sizes()
