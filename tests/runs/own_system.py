"""An experiment with a system of its own: every word sees its neighbours, and nothing further."""

import dataclasses
from pathlib import Path
from typing import ClassVar

import flax.linen as nn
import jax.numpy as jnp

from luke_jax.models.keys import Keys, linear, norm, table
from luke_jax.models.system import Backbone, Layout, States, System, Tables
from luke_jax.nn.activations import gelu
from luke_jax.nn.embeddings import real_tokens
from luke_jax.nn.layers import Dense, LayerNorm, Numerics, embedding
from luke_jax.pipeline.batches import Data
from luke_jax.tasks.ner.task import NamedEntities
from luke_jax.training.experiment import Experiment, Run
from luke_jax.training.optimizer import Optimizer

SAMPLE = Path(__file__).parents[2] / "data"
LABELS = ("NIL", "LOC", "MISC", "ORG", "PER")


class Neighbours(nn.Module):
  """Mixes each word with the one before it and the one after it, layer by layer."""

  backbone: Backbone
  pooled: bool

  def setup(self):
    """Makes the table of words and the layers."""
    config, numerics = self.backbone.config, self.backbone.numerics
    self.word = embedding(numerics, config.vocab_size, config.hidden_size)
    layers = range(config.num_hidden_layers)
    self.mix = [Dense(numerics, (config.hidden_size,)) for _ in layers]
    self.norm = [LayerNorm(numerics) for _ in layers]

  def __call__(self, *, input_ids, attention_mask=None):
    """Returns the states of words."""
    real = real_tokens(attention_mask, input_ids)[..., None]
    x = self.word(input_ids)
    for mix, layer_norm in zip(self.mix, self.norm, strict=True):
      x = jnp.where(real, x, 0)
      sides = [jnp.pad(x, ((0, 0), pad, (0, 0))) for pad in ((1, 0), (0, 1))]
      around = jnp.concatenate([sides[0][:, :-1], x, sides[1][:, 1:]], axis=-1)
      x = layer_norm(x + gelu(mix(around)))
    return States(x)

  def tables(self):
    """Returns the embeddings that decode masked words."""
    return Tables(self.word.embedding)


@dataclasses.dataclass(frozen=True)
class NeighboursConfig(System):
  """Sizes of the system."""

  vocab_size: int = 2002
  hidden_size: int = 32
  num_hidden_layers: int = 2
  num_attention_heads: int = 1
  pad_token_id: int = 1
  room_for_words: int = 512

  name: ClassVar[str] = "neighbours"
  title: ClassVar[str] = "Neighbours"
  module: ClassVar[type] = Neighbours
  model_types: ClassVar[tuple[str, ...]] = ("neighbours",)
  prefix: ClassVar[str] = "Neighbours"
  layout: ClassVar[Layout] = Layout(words=("neighbours/word/embedding",))

  @classmethod
  def keys(cls, kind):
    """Returns the names of tensors on disk; the layers are apart here, not stacked."""
    rows = table("neighbours/word", "word")
    for i in range(cls.num_hidden_layers):
      rows += linear(f"neighbours/mix_{i}", f"mix.{i}") + norm(f"neighbours/norm_{i}", f"norm.{i}")
    return Keys.of([*rows, *linear("classifier", "classifier")])

  @property
  def numerics(self):
    """Returns the numbers that all layers share."""
    return Numerics(init_std=0.1)


def config() -> Experiment:
  """The experiment: named entities of the sample texts, from scratch."""
  files = {split: str(SAMPLE / f"sample_tasks/ner/{split}.conll") for split in ("train", "dev")}
  text = str(SAMPLE / "sample_wiki/tokenizer")
  return Experiment(
    model=NeighboursConfig(),
    task=NamedEntities(**files, text=text, labels=LABELS, words=128, entities=64, span_words=10),
    data=Data(batch_size=8, evaluation_batch_size=32),
    optimizer=Optimizer(learning_rate=1e-2, bias_correction=True),
    run=Run(steps=150, save_every=150, best_metric="f1"),
  )
