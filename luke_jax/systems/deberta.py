"""DeBERTa v2 and v3: attention by content and, apart from it, by distance (He et al., 2021).

A score has up to three terms: query and key of two words, query of a word and key of a distance
(c2p), key of a word and query of a distance (p2c). R is the number of rows of distances.
"""

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.models.config_files import OF_TRANSFORMERS, Fixed, check_config, check_fixed
from luke_jax.models.keys import OF_BERT, Key, Keys, linear, norm, table
from luke_jax.models.shapes import cast_once
from luke_jax.models.system import Backbone, Described, Layout, States, System, TokenCounts
from luke_jax.nn import layers
from luke_jax.nn.activations import Activation, activate
from luke_jax.nn.attention import probabilities
from luke_jax.nn.embeddings import look_up, real_tokens
from luke_jax.nn.encoder import Mlp, Pooler, over_layers, remade
from luke_jax.nn.layers import Dense, Dropout, LayerNorm, embedding
from luke_jax.systems.bert.config import BertConfig, BertEncoder, tables_of_words
from luke_jax.systems.bert.keys import PartNames, keys_of


class Around(NamedTuple):
  """All that a layer reads beside its states."""

  mask: Bool[Array, "B W"]
  distances: Float[Array, "R D"] | None
  toward: Int[Array, " 2W"]  # rows of the distances W, W - 1, …, 1 - W
  away: Int[Array, " 2W"]  # rows of the distances -W, 1 - W, …, W - 1
  added: (
    tuple[Float[Array, "B W D"], Mapping[str, Any]] | None
  )  # to the first layer, and the norm of the sum


@functools.cache
def rows_of_distances(reach: int, buckets: int) -> np.ndarray:
  """Returns the rows of distances from -2 reach to 2 reach, of which those beyond reach are one.

  With buckets, distances above half of their number share rows by the logarithm.
  """
  places, middle, span = np.arange(-2 * reach, 2 * reach + 1), buckets // 2, buckets or reach
  if buckets:
    far = (np.maximum(np.abs(places), middle) / middle).astype(np.float32)
    steps = np.log(far) / np.log(np.float32((reach - 1) / middle)) * np.float32(middle - 1)
    beyond = np.sign(places) * (np.ceil(steps).astype(int) + middle)
    places = np.where(np.abs(places) <= middle, places, beyond)
  return np.clip(places + span, 0, 2 * span - 1)


def skewed(scores: Float[Array, "B N W 2W"]) -> Float[Array, "B N W W"]:
  """Returns the scores of words from those of distances: row i begins i columns before row 0."""
  *lead, words, both = scores.shape
  rows = jax.lax.slice_in_dim(scores.reshape(*lead, both, words), 1, both, axis=2)
  return jax.lax.slice_in_dim(rows.reshape(*lead, words, both - 1), 0, words, axis=3)


class DisentangledAttention(nn.Module):
  """Self-attention of words by content, and by distance to either side."""

  backbone: "Backbone[DebertaConfig]"

  @nn.compact
  def __call__(self, x: Float[Array, "B W D"], around: Around) -> Float[Array, "B W D"]:
    """Returns what each word reads; padding asks all words alike. Sows the probabilities."""
    n, c = self.backbone.numerics, self.backbone.config
    heads = c.num_attention_heads, c.hidden_size // c.num_attention_heads
    ask, answer = Dense(n, heads, name="query"), Dense(n, heads, name="key")
    query, key, value = ask(x), answer(x), Dense(n, heads, name="value")(x)
    multiply = functools.partial(jnp.einsum, preferred_element_type=jnp.float32)
    scores = multiply("bqnh,bknh->bnqk", query, key)
    if around.distances is not None:
      rows = Dropout(n.dropout)(around.distances)
      if "c2p" in c.pos_att_type:
        dense = answer if c.share_att_key else Dense(n, heads, name="distance_key")
        scores += skewed(multiply("bqnh,tnh->bnqt", query, dense(rows[around.toward])))
      if "p2c" in c.pos_att_type:
        dense = ask if c.share_att_key else Dense(n, heads, name="distance_query")
        asked = skewed(multiply("bknh,tnh->bnkt", key, dense(rows[around.away])))
        scores += asked.swapaxes(2, 3)
    pairs = around.mask[:, :, None] & around.mask[:, None]
    probs = probabilities(scores, pairs, heads[1] * (1 + len(c.pos_att_type)))
    self.sow("intermediates", "probs", probs)
    probs = Dropout(c.attention_probs_dropout_prob)(probs).astype(x.dtype)
    context = jnp.einsum("bnqk,bknh->bqnh", probs, value)
    return Dense(n, x.shape[-1:], heads, name="output")(context)


class DebertaLayer(nn.Module):
  """Attention and a feed-forward network, each added to its input and then normalised."""

  backbone: "Backbone[DebertaConfig]"

  @nn.compact
  def __call__(self, x: jax.Array, first: jax.Array, around: Around) -> jax.Array:
    """Returns the states (B, W, D) after the layer; the first one adds the convolution."""
    n, c = self.backbone.numerics, self.backbone.config
    dropped = Dropout(n.dropout)
    y = DisentangledAttention(self.backbone, name="attention")(layers.constrain(x), around)
    x = LayerNorm(n, name="attention_norm")(x + dropped(y))
    x = LayerNorm(n, name="mlp_norm")(x + dropped(Mlp(n, c.intermediate_size, name="mlp")(x)))
    if around.added is not None:
      alone: Any = LayerNorm(n, parent=None)
      y = alone.apply({"params": around.added[1]}, x + around.added[0])
      x = jnp.where(first, jnp.where(around.mask[..., None], y, 0), x)
    self.sow("intermediates", "output", x)
    return x


class DebertaLayers(nn.Module):
  """All layers, scanned over parameters with a leading layer axis."""

  backbone: "Backbone[DebertaConfig]"

  @nn.compact
  def __call__(self, x: jax.Array, mask: jax.Array, rows: jax.Array | None) -> jax.Array:
    """Returns the states (B, W, D) after all, given rows of distances (R, D); sows the input."""
    c, n, words = self.backbone.config, self.backbone.numerics, x.shape[1]
    self.sow("intermediates", "input", x)
    known, end = jnp.array(rows_of_distances(c.reach, c.position_buckets)), 2 * c.reach
    places = words - jnp.arange(2 * words)
    toward, away = (known[jnp.clip(x, -end, end) + end] for x in (places, -places))
    added = self._convolved(x, mask) if c.conv_kernel_size else None
    around = Around(mask, rows, toward, away, added)
    count, remat = c.num_hidden_layers, self.backbone.running.remat
    layer = remade(DebertaLayer, remat)(self.backbone, name="layers")
    step = over_layers(
      lambda layer, x, first: (layer(x, first, around), None), count, unroll=n.on_cpu
    )
    return step(layer, x, jnp.arange(count) == 0)[0]

  def _convolved(self, x: jax.Array, mask: jax.Array) -> tuple[jax.Array, Mapping[str, Any]]:
    c, n, (batch, words, d) = self.backbone.config, self.backbone.numerics, x.shape
    width = c.conv_kernel_size
    init = layers.initializer(n, 1 / (d * width))
    weights = layers.parameter(self, "conv_weights", init, (d, d, width)).astype(n.dtype)
    weights = layers.gathered(weights, weights.shape)
    bias = layers.parameter(self, "conv_bias", nn.initializers.zeros, (d,)).astype(n.dtype)
    edge = jnp.zeros((batch, width // 2, d), x.dtype)
    padded = jnp.concatenate([edge, x, edge], 1)
    near = [jax.lax.slice_in_dim(padded, i, i + words, axis=1) for i in range(width)]
    kernel = weights.transpose(2, 1, 0).reshape(-1, d)
    y = layers.project(jnp.concatenate(near, -1), kernel, bias, on_cpu=n.on_cpu)
    y = Dropout(n.dropout)(jnp.where(mask[..., None], y, 0))
    (norm := LayerNorm(n, name="conv_norm"))(x)
    return activate(y, c.conv_act), norm.variables["params"]


class DebertaEmbeddings(nn.Module):
  """Vectors of words, of places and types if the sizes have them, and of distances."""

  backbone: "Backbone[DebertaConfig]"

  def setup(self) -> None:
    """Makes the tables; `word` is also the decoder of masked words."""
    c, n = self.backbone.config, self.backbone.numerics
    e, d = c.embedding_size, c.hidden_size
    self.word = embedding(n, c.vocab_size, e)
    self.position = embedding(n, c.max_position_embeddings, e) if c.position_biased_input else None
    self.type = embedding(n, c.type_vocab_size, e) if c.type_vocab_size else None
    self.project = Dense(n, (d,), use_bias=False) if e != d else lambda x: x
    self.norm, self.dropout = LayerNorm(n), Dropout(n.dropout)
    if c.relative_attention:
      self.distance = embedding(n, 2 * (c.position_buckets or c.reach), d)
    self.distance_norm = LayerNorm(n) if "layer_norm" in c.norm_rel_ebd else lambda x: x

  def __call__(
    self, ids: jax.Array, mask: jax.Array, types: jax.Array | None, places: jax.Array | None
  ) -> tuple[jax.Array, jax.Array | None]:
    """Returns the embeddings of words, 0 at padding, and the rows of distances."""
    x = look_up(self.word, ids, self.backbone.config.pad_token_id)
    if self.position is not None:
      x = x + look_up(self.position, jnp.arange(ids.shape[1])[None] if places is None else places)
    if self.type is not None:
      x = x + look_up(self.type, jnp.zeros_like(ids) if types is None else types)
    x = self.dropout(jnp.where(mask[..., None], self.norm(self.project(x)), 0))
    if not self.backbone.config.relative_attention:
      return x, None
    return x, self.distance_norm(self.distance.embedding.astype(x.dtype))


class DebertaEncoder(nn.Module):
  """States of words in context."""

  backbone: "Backbone[DebertaConfig]"
  pooled: bool

  def setup(self) -> None:
    """Makes the parts."""
    c, n = self.backbone.config, self.backbone.numerics
    self.embeddings, self.encoder = DebertaEmbeddings(self.backbone), DebertaLayers(self.backbone)
    self.pooler, self.dropout = Pooler(n, c.pooler_hidden_act), Dropout(c.pooler_dropout)

  def __call__(
    self,
    *,
    input_ids: jax.Array,
    attention_mask: jax.Array | None = None,
    token_type_ids: jax.Array | None = None,
    position_ids: jax.Array | None = None,
  ) -> States:
    """Returns the states of words; types and places without a table of theirs change nothing."""
    mask = real_tokens(attention_mask, input_ids)
    x, rows = self.embeddings(input_ids, mask, token_type_ids, position_ids)
    words = self.encoder(x, mask, rows)
    return States(words, pooled=self.pooler(self.dropout(words[:, :1])) if self.pooled else None)

  tables = BertEncoder.tables


def _names(head: str, transform: str) -> PartNames:
  return PartNames(
    "deberta",
    layer=OF_BERT._replace(key="attention.self.key_proj", value="attention.self.value_proj"),
    pooler="pooler.dense",
    transform=f"{transform}.dense",
    norm=f"{transform}.LayerNorm",
    decoder=f"{head}.decoder",
    bias=f"{head}.bias",
  )


def _own_keys() -> list[Key]:
  distance, ours, theirs = "deberta/embeddings/distance", "deberta/encoder", "deberta.encoder"
  rows = linear("deberta/embeddings/project", "deberta.embeddings.embed_proj")
  rows += table(distance, f"{theirs}.rel_embeddings")
  rows += norm(f"{distance}_norm", f"{theirs}.LayerNorm")
  for path, name in (
    ("query", "query"),
    ("distance_key", "pos_key"),
    ("distance_query", "pos_query"),
  ):
    layer = f"{theirs}.layer.{{layer}}.attention.self.{name}_proj"
    rows += linear(f"{ours}/layers/attention/{path}", layer)
  rows += norm(f"{ours}/conv_norm", f"{theirs}.conv.LayerNorm")
  names = {"weights": "weight", "bias": "bias"}
  return rows + [Key(f"{ours}/conv_{x}", (f"{theirs}.conv.conv.{y}",)) for x, y in names.items()]


# What transformers takes for entries that a file lacks.
_ABSENT = {"relative_attention": False, "position_buckets": 0, "norm_rel_ebd": "none"}
_ABSENT |= {"share_att_key": False, "pos_att_type": (), "position_biased_input": True}
_NONE = ("max_relative_positions", "position_buckets", "conv_kernel_size")  # if 0, in files -1 too


@dataclasses.dataclass(frozen=True)
class DebertaConfig(BertConfig):
  """Sizes of a DeBERTa v2 or v3; the defaults are deberta-v3-base."""

  vocab_size: int = 128100  # words, special ones included
  type_vocab_size: int = 0  # types of tokens; 0: tokens have none
  layer_norm_eps: float = 1e-7  # added to the variance in layer norms
  embedding_size: int = 768  # width of the tables of words, places and types
  relative_attention: bool = True  # scores depend on distances
  max_relative_positions: int = 0  # distance from which all are one; 0: max_position_embeddings
  position_buckets: int = 256  # rows of either direction, shared by far distances; 0: no sharing
  norm_rel_ebd: str = "layer_norm"  # of the rows of distances; "none": they have no norm
  share_att_key: bool = True  # distances are projected as words are
  pos_att_type: tuple[str, ...] = ("p2c", "c2p")  # terms of scores by distance
  position_biased_input: bool = False  # embeddings have those of places
  conv_kernel_size: int = 0  # words that a convolution reads at a time; 0: there is none
  conv_act: Activation = "tanh"  # of the convolution
  pooler_dropout: float = 0.0  # share of the first word's state that the pooler drops
  pooler_hidden_act: Activation = "gelu"  # of the pooler
  cls_dropout: float | None = None  # of pooled states; None: as hidden_dropout_prob

  classifier_dropout: ClassVar[None] = None  # pyrefly: ignore[bad-override]
  name: ClassVar[str] = "deberta"
  title: ClassVar[str] = "DeBERTa"
  paper: ClassVar[str] = "[He et al., 2021](https://arxiv.org/abs/2111.09543)"
  module: ClassVar[type] = DebertaEncoder
  model_types: ClassVar[tuple[str, ...]] = ("deberta-v2", "deberta")  # the latter is refused
  prefix: ClassVar[str] = "DebertaV2"
  names: ClassVar[PartNames] = _names("cls.predictions", "cls.predictions.transform")
  left_to_right: ClassVar[tuple[str, ...]] = ()
  fixed: ClassVar[Fixed] = {**OF_TRANSFORMERS, "z_steps": 0, "conv_groups": 1}
  layout: ClassVar[Layout] = Layout(words=tables_of_words("deberta"))
  pooled_alone: ClassVar[bool] = False
  inputs = System.inputs  # types too, which transformers' tokenizer gives
  for_prediction = staticmethod(cast_once)

  def __post_init__(self) -> None:
    check_config(self, ("type_vocab_size", *_NONE))
    buckets, terms = self.position_buckets, self.pos_att_type
    if not set(terms) <= {"c2p", "p2c"} or len(set(terms)) < len(terms):
      raise InputError(f"pos_att_type: {'|'.join(terms)}; expected c2p, p2c, c2p|p2c, or nothing")
    if buckets % 2 or (buckets and buckets // 2 >= self.reach - 1):
      expected = f"an even number below {2 * self.reach - 2}, for distances up to {self.reach}"
      raise InputError(f"position_buckets: {buckets}; expected {expected}")
    if self.conv_kernel_size and self.conv_kernel_size % 2 == 0:
      raise InputError(f"conv_kernel_size: {self.conv_kernel_size}; expected 0 or an odd number")

  @property
  def embedding_width(self) -> int:
    """Returns the width of the tables of words, positions and types."""
    return self.embedding_size

  @property
  def reach(self) -> int:
    """Returns the distance from which all are one."""
    return self.max_relative_positions or self.max_position_embeddings

  @property
  def token_types(self) -> bool:  # pyrefly: ignore[bad-override]
    """Returns true if words have the type of the text of a pair that they are in."""
    return self.type_vocab_size > 1

  @classmethod
  def keys(cls, kind: str) -> Keys:
    """Returns the names of tensors on disk."""
    renames = ((r"^(embeddings|encoder)\.", r"deberta.\1."),)
    unused = ("mask_predictions.", "lm_predictions.")  # of the hub's files
    found = keys_of(cls.name, cls.names, own=_own_keys())
    tied = {x: name for x, name in found.aliases.items() if x.startswith("cls.")}
    return dataclasses.replace(found, aliases=tied, renames=renames, unused=unused)

  @classmethod
  def read_config(cls, raw: dict[str, object], path: Path) -> Described:
    """Returns the contents of a config.json."""
    if raw.get("model_type") == "deberta":
      raise InputError(f"{path}: model_type: 'deberta', of v1; expected 'deberta-v2', of v2 and v3")
    raw = {"embedding_size": raw.get("hidden_size"), **_ABSENT, **raw}
    raw |= {name: 0 for name in _NONE if raw.get(name) == -1}
    terms: Any = raw["pos_att_type"] or ()
    listed = terms.lower().split("|") if isinstance(terms, str) else terms
    raw["pos_att_type"] = tuple(str(x).strip() for x in listed)
    check_fixed(raw, {"pooler_hidden_size": raw.get("hidden_size")}, f"{path}: ")
    found = super().read_config(raw, path)
    if raw.get("legacy") is False:
      return dataclasses.replace(found, config=PlainHeadConfig(**vars(found.config)))
    return found

  def head_dropout(self, kind: str) -> float:
    """Returns the share of the states that a kind of head drops in training."""
    own = self.cls_dropout if kind in ("text", "choice") else None
    return super().head_dropout(kind) if own is None else own

  def products(self, counts: TokenCounts) -> Mapping[str, float]:
    """Returns the multiplications and additions of a forward pass, by the path of their weights."""
    counted, name = dict(super().products(counts)), "deberta/encoder"
    others = counted[""] + counted.get("deberta/embeddings/project", 0.0)
    return {**counted, name: System.products(self, counts)[name] - others}  # scores by distance too


@dataclasses.dataclass(frozen=True)
class PlainHeadConfig(DebertaConfig):
  """Sizes of a DeBERTa whose head for masked words is not the one that transformers had first."""

  names: ClassVar[PartNames] = _names("lm_predictions.lm_head", "lm_predictions.lm_head")


_LARGE: dict[str, Any] = {"hidden_size": 1024, "embedding_size": 1024, "num_hidden_layers": 24}
SIZES = {
  "deberta-v3-small": DebertaConfig(num_hidden_layers=6),
  "deberta-v3-base": DebertaConfig(),
  "deberta-v3-large": DebertaConfig(**_LARGE, num_attention_heads=16, intermediate_size=4096),
}
