"""A LUKE in the encoder of 2026: rotary positions, windows, layers that normalise first.

Words read a window and all entities; entities read all, and are what a text remembers. A mention
is turned by the mean of its words' positions, which LUKE's position embeddings are a mean of, too.
Each of the three is a field, so that namesakes (experiments/namesakes.py, which says what
to make before) tells what it is worth: luke_modern.sh does all forms for a seed.

    luke-jax train experiments/luke_modern.py:pretraining --output runs/modern
    luke-jax export runs/modern runs/modern-model \\
      --experiment experiments/luke_modern.py:pretraining
    luke-jax experiment run experiments/luke_modern.py:questions --seeds 1 \\
      --set task.text=runs/modern-model --set run.start=runs/modern-model

`far` asks for what a text said so many words before, of names that mean another thing in each text:

    python -m data.namesakes.far datasets/far --words 400
    luke-jax experiment run experiments/luke_modern.py:far --seeds 1 --set task.words=1536
"""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import flax.linen as nn
import jax
import jax.numpy as jnp

from luke_jax.models import shapes
from luke_jax.models.keys import Keys
from luke_jax.models.system import Backbone, Described, Layout, Recipe, States, Tables
from luke_jax.nn.block_attention import MASKED, block_attention
from luke_jax.nn.embeddings import WordEmbeddings, real_tokens
from luke_jax.nn.encoder import Mlp, Pooler, over_layers
from luke_jax.nn.layers import Dense, Dropout, LayerNorm
from luke_jax.nn.queries import Blocks, QueryProjections, query_blocks, turned, turns
from luke_jax.pipeline.batches import Data
from luke_jax.systems.luke import LukeConfig
from luke_jax.systems.luke.encoder import EntityEmbeddings
from luke_jax.tasks.typing.task import EntityTyping
from luke_jax.training.experiment import Experiment, Run
from luke_jax.training.experiment_files import load_experiment
from luke_jax.training.optimizer import Optimizer, Schedule
from luke_jax.training.overrides import row

KINDS = ("river", "singer", "painter", "village", "ship", "club")  # of data.namesakes
TURNED = jax.vmap(lambda x, *turn: turned(x[None], *turn)[0])  # by positions of each text


def windowed(
  queries: Blocks, key: jax.Array, value: jax.Array, mask: jax.Array, reach: int
) -> jax.Array:
  """Returns attention of words to those within reach and to all entities, and of entities to all.

  No array has a number for each two words: blocks of `reach` words ask themselves and both beside.
  """
  if len(queries) == 1:  # one query for both kinds of keys
    raise ValueError("windows need queries of words and of entities")
  (near, far), (of_words, of_entities) = queries
  words, scale = near.shape[1], near.shape[-1] ** -0.5
  blocks = -(-words // reach)

  def in_blocks(x: jax.Array, around: int = 0) -> jax.Array:
    room = ((0, 0), (around * reach, (blocks + around) * reach - words), *[(0, 0)] * (x.ndim - 2))
    return jnp.pad(x, room).reshape(x.shape[0], blocks + 2 * around, reach, *x.shape[2:])

  def beside(x: jax.Array) -> jax.Array:
    x = in_blocks(x, 1)
    return jnp.concatenate([x[:, i : i + blocks] for i in range(3)], axis=2)

  keys, entity_keys = beside(key[:, :words]), key[:, words:]
  apart = jnp.arange(3 * reach)[None] - reach - jnp.arange(reach)[:, None]
  seen = (jnp.abs(apart) <= reach) & beside(mask[:, :words])[:, :, None]
  inside = jnp.einsum("bcqnh,bcknh->bcnqk", in_blocks(near * scale), keys)
  across = jnp.einsum("bcqnh,bknh->bcnqk", in_blocks(far * scale), entity_keys)
  inside = jnp.where(seen[:, :, None], inside, MASKED)
  across = jnp.where(mask[:, None, None, None, words:], across, MASKED)
  probs = jax.nn.softmax(jnp.concatenate([inside, across], axis=-1))
  context = jnp.einsum("bcnqk,bcknh->bcqnh", probs[..., : 3 * reach], beside(value[:, :words]))
  context += jnp.einsum("bcnqk,bknh->bcqnh", probs[..., 3 * reach :], value[:, words:])
  context = context.reshape(context.shape[0], -1, *context.shape[3:])[:, :words]

  scores = [
    jnp.einsum("bqnh,bknh->bnqk", query * scale, part)
    for query, part in ((of_words, key[:, :words]), (of_entities, entity_keys))
  ]
  probs = jnp.where(mask[:, None, None], jnp.concatenate(scores, axis=-1), MASKED)
  of_all = jnp.einsum("bnqk,bknh->bqnh", jax.nn.softmax(probs), value)
  return jnp.concatenate([context, of_all], axis=1)


class ModernLayer(nn.Module):
  """Attention and a feed-forward network, which normalise before them, or after as LUKE does."""

  backbone: "Backbone[LukeModernConfig]"
  words: int

  @nn.compact
  def __call__(self, x: jax.Array, mask: jax.Array, turn: Any) -> jax.Array:
    """Returns the states after the layer; `turn` has the cosines and sines of positions."""
    c, n = self.backbone.config, self.backbone.numerics
    kinds = 2 if c.use_entity_aware_attention else 1
    sizes = shapes.attention_sizes(c, self.backbone.running, kinds=kinds)
    norms = [LayerNorm(n, name=f"{part}_norm") for part in ("attention", "mlp")]
    y = norms[0](x) if c.pre_norm else x
    heads = sizes.heads, sizes.head_size
    projections = QueryProjections(n, sizes, x.shape[-1], name="query")()
    key, value = Dense(n, heads, name="key")(y), Dense(n, heads, name="value")(y)
    queries = query_blocks(y, self.words, projections)
    if turn is not None:
      key = TURNED(key, *turn)
      parts = [slice(None)] if len(queries) == 1 else [slice(self.words), slice(self.words, None)]
      queries = tuple(
        tuple(TURNED(x, *(part[:, tokens] for part in turn)) for x in of_kind)
        for of_kind, tokens in zip(queries, parts, strict=True)
      )
    if self.is_initializing():
      context = value  # has its shape
    elif c.reach:
      context = windowed(queries, key, value, mask, c.reach)
    else:
      context = block_attention(queries, key, value, mask)
    drop = Dropout(n.dropout)
    x += drop(Dense(n, x.shape[-1:], heads, name="output")(context))
    x = x if c.pre_norm else norms[0](x)
    if not c.pre_norm:
      return norms[1](x + drop(Mlp(n, c.intermediate_size, name="mlp")(x)))
    gates = Dense(n, (2 * (2 * c.intermediate_size // 3),), name="up")(norms[1](x))
    hidden, gate = jnp.split(gates, 2, axis=-1)
    return x + drop(Dense(n, x.shape[-1:], name="down")(nn.gelu(hidden) * gate))


class Entities(EntityEmbeddings):
  """LUKE's embeddings of entities, without position embeddings where positions are turns."""

  def mention(self, entity_position_ids: jax.Array) -> jax.Array:
    """Returns the mean position embedding of mentions, or 0."""
    return 0.0 if self.config.rotary else super().mention(entity_position_ids)


class LukeModernEncoder(nn.Module):
  """States of words and entities in context."""

  backbone: "Backbone[LukeModernConfig]"
  pooled: bool = True

  def setup(self) -> None:
    """Makes the parts; the tables of both embeddings also decode masked tokens."""
    c, n = self.backbone.config, self.backbone.numerics
    self.embeddings = WordEmbeddings(
      n,
      words=c.vocab_size,
      width=c.hidden_size,
      positions=0 if c.rotary else c.max_position_embeddings,
      types=0,
      pad_id=c.pad_token_id,
      positions_after_padding=True,
    )
    if c.entity_vocab_size:
      spread = self.backbone.spread
      self.entity_embeddings = Entities(
        c, n, c.entity_vocab_size + spread.padding_rows, spread.axis
      )
    self.layers = _Layers(self.backbone)
    self.final_norm = LayerNorm(n) if c.pre_norm else lambda x: x
    if self.pooled:
      self.pooler = Pooler(n)

  def __call__(
    self,
    *,
    input_ids: jax.Array,
    attention_mask: jax.Array | None = None,
    entity_ids: jax.Array | None = None,
    entity_attention_mask: jax.Array | None = None,
    entity_position_ids: jax.Array | None = None,
  ) -> States:
    """Returns the states of words, of entities if they are given, and of the first word."""
    batch, words = input_ids.shape
    x, mask = self.embeddings(input_ids), real_tokens(attention_mask, input_ids)
    places = jnp.broadcast_to(jnp.arange(words, dtype=jnp.float32), (batch, words))
    if entity_ids is not None:
      x = jnp.concatenate([x, self.entity_embeddings(entity_ids, entity_position_ids)], axis=1)
      mask = jnp.concatenate([mask, real_tokens(entity_attention_mask, entity_ids)], axis=1)
      there = entity_position_ids >= 0
      means = jnp.where(there, entity_position_ids, 0).sum(-1) / jnp.maximum(there.sum(-1), 1)
      places = jnp.concatenate([places, means], axis=1)
    x = self.final_norm(self.layers(x, mask, places, words))
    states = None if entity_ids is None else x[:, words:]
    return States(x[:, :words], states, self.pooler(x[:, :words]) if self.pooled else None)

  def tables(self) -> Tables:
    """Returns the embeddings that decode masked tokens."""
    entities = None
    if self.backbone.config.entity_vocab_size:
      entities = self.entity_embeddings.entity.embedding
    return Tables(self.embeddings.word.embedding, entities)


class _Layers(nn.Module):
  backbone: "Backbone[LukeModernConfig]"

  @nn.compact
  def __call__(self, x: jax.Array, mask: jax.Array, places: jax.Array, words: int) -> jax.Array:
    c = self.backbone.config
    turn = turns(places, c.hidden_size // c.num_attention_heads, 10_000.0) if c.rotary else None
    layer = ModernLayer(self.backbone, words, name="layers")
    step = over_layers(lambda layer, x: (layer(x, mask, turn), None), c.num_hidden_layers)
    return step(layer, x)[0]


@dataclasses.dataclass(frozen=True)
class LukeModernConfig(LukeConfig):
  """Sizes of LUKE's, and what its layers have of a newer encoder."""

  rotary: bool = True  # positions turn queries and keys
  reach: int | None = None  # words to each side that a word reads; None: all
  pre_norm: bool = True  # layers normalise before their parts, which are gated

  name: ClassVar[str] = "luke_modern"
  title: ClassVar[str] = "LUKE modern"
  module: ClassVar[type] = LukeModernEncoder
  model_types: ClassVar[tuple[str, ...]] = ("luke-modern",)
  prefix: ClassVar[str] = "LukeModern"
  starts_from: ClassVar[tuple[str, ...]] = ()
  recipes: ClassVar[Mapping[str, Recipe]] = {}
  adapters: ClassVar[bool] = False
  layout: ClassVar[Layout] = Layout(
    words=("luke_modern/embeddings/word/embedding", "masked_words/bias"),
    entities=("luke_modern/entity_embeddings/entity/embedding", "masked_entities/bias"),
  )
  for_prediction = staticmethod(shapes.cast_once)

  @classmethod
  def keys(cls, kind: str) -> Keys:
    """Returns the names of tensors on disk: those of the parameters."""
    return Keys.of(())

  @property
  def inputs(self) -> tuple[str, ...]:
    """Returns the names of the encoder's inputs."""
    names = super(LukeConfig, self).inputs
    return names if self.entity_vocab_size else names[:2]

  @classmethod
  def read_config(cls, raw: dict[str, object], path: Any) -> Described:
    """Returns the contents of a config.json."""
    return super(LukeConfig, cls).read_config(raw, path)

  @classmethod
  def write_config(cls, described: Described) -> dict[str, Any]:
    """Returns the config.json."""
    return super(LukeConfig, cls).write_config(described)


def _modern(name: str) -> Experiment:
  """Returns an experiment of namesakes with this encoder."""
  experiment = load_experiment(Path(__file__).with_name(f"namesakes.py:{name}"))
  model = LukeModernConfig(**dataclasses.asdict(experiment.model))
  frozen = tuple(x.replace("luke/", "luke_modern/") for x in experiment.optimizer.frozen)
  optimizer = dataclasses.replace(experiment.optimizer, frozen=frozen)
  return dataclasses.replace(experiment, model=model, optimizer=optimizer)


def pretraining() -> Experiment:
  """Returns the pretraining on the wiki of namesakes."""
  return _modern("pretraining")


def questions() -> Experiment:
  """Returns the experiment of questions about namesakes."""
  return _modern("questions")


def far() -> Experiment:
  """Returns the experiment of names whose clue stands far before, from random parameters."""
  files = {name: f"datasets/far/{name}.jsonl" for name in ("train", "dev", "test")}
  tiny = load_experiment(Path(__file__).with_name("sample.py:typing"))
  model = LukeModernConfig(**dataclasses.asdict(tiny.model))
  return Experiment(
    model=dataclasses.replace(model, num_hidden_layers=4, max_position_embeddings=10_000, reach=32),
    task=EntityTyping(**files, text=tiny.task.text, labels=tuple(KINDS), exclusive=True, words=512),
    data=Data(batch_size=16, evaluation_batch_size=16),
    optimizer=Optimizer(learning_rate=1e-3, bias_correction=True),
    schedule=Schedule(warmup_ratio=0.06),
    run=Run(epochs=4, evaluate_every=200, best_metric="f1"),
  )


ROWS = {
  "far": row(far, table="Names whose clue is far", method="LUKE modern", split="test"),
  "pretraining": row(pretraining),
  "questions": row(questions, table="Namesakes", method="LUKE modern", split="test"),
}
