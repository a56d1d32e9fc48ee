"""LUKE and its task models, under the names Hugging Face gave them.

Every model maps keyword inputs to a dictionary of outputs, both named as in Hugging Face, and has
`loss(outputs, ...)`. Inputs of every model, all integers:

  input_ids, attention_mask, token_type_ids, position_ids            (B, W)
  entity_ids, entity_attention_mask, entity_token_type_ids           (B, E)
  entity_position_ids                                                (B, E, M), -1 padded

Only `input_ids` must be given; without entities the model is RoBERTa, and heads that read entities
take the words at `entity_start_positions` (B, E) instead. Dropout is on when `apply`
is given a "dropout" key.
"""

import flax.linen as nn
import jax
import jax.numpy as jnp

from luke_jax.config import LukeConfig
from luke_jax.nn import losses
from luke_jax.nn.embeddings import EntityEmbeddings, WordEmbeddings
from luke_jax.nn.encoder import Encoder
from luke_jax.nn.heads import MaskedTokens, PageEntity, Pooler, span_features
from luke_jax.nn.layers import Dense, Dropout, embedding

Outputs = dict[str, jax.Array]


class LukeModel(nn.Module):
  """States of words and entities in context."""

  config: LukeConfig
  add_pooling_layer: bool = True

  def setup(self) -> None:
    """Makes the parts; the tables of both embeddings also decode masked tokens."""
    c = self.config
    self.embeddings = WordEmbeddings(c)
    if c.entity_vocab_size:
      self.entity_embeddings = EntityEmbeddings(c)
    self.encoder = Encoder(c)
    if self.add_pooling_layer:
      self.pooler = Pooler(c)

  def __call__(
    self,
    *,
    input_ids: jax.Array,
    attention_mask: jax.Array | None = None,
    token_type_ids: jax.Array | None = None,
    position_ids: jax.Array | None = None,
    entity_ids: jax.Array | None = None,
    entity_attention_mask: jax.Array | None = None,
    entity_token_type_ids: jax.Array | None = None,
    entity_position_ids: jax.Array | None = None,
  ) -> Outputs:
    """Returns last_hidden_state (B, W, D), entity_last_hidden_state (B, E, D), pooler_output."""
    num_words = input_ids.shape[1]
    x = self.embeddings(input_ids, token_type_ids, position_ids)
    word_mask = _mask(attention_mask, input_ids)
    entity_mask = jnp.zeros((input_ids.shape[0], 0), bool)
    if entity_ids is not None:
      if entity_position_ids is None:
        raise ValueError("entity_ids needs entity_position_ids")
      entities = self.entity_embeddings(entity_ids, entity_position_ids, entity_token_type_ids)
      entity_mask = _mask(entity_attention_mask, entity_ids)
      x = jnp.concatenate([x, entities], axis=1)
    x = self.encoder(x, word_mask, entity_mask)
    outputs = {"last_hidden_state": x[:, :num_words]}
    if entity_ids is not None:
      outputs["entity_last_hidden_state"] = x[:, num_words:]
    if self.add_pooling_layer:
      outputs["pooler_output"] = self.pooler(x[:, :num_words])
    return outputs


def _mask(mask: jax.Array | None, ids: jax.Array) -> jax.Array:
  return jnp.ones(ids.shape, bool) if mask is None else mask.astype(bool)


class LukeForMaskedLM(nn.Module):
  """Pretraining: masked words, masked entities and, if the config says so, the page's entity."""

  config: LukeConfig

  @nn.compact
  def __call__(self, **inputs: jax.Array) -> Outputs:
    """Adds logits (B, W, V), entity_logits (B, E, U) and page_entity (B, K)."""
    c = self.config
    luke = LukeModel(c, name="luke")
    outputs = luke(**inputs)
    words = outputs["last_hidden_state"]
    decoder = luke.embeddings.word
    if not c.tie_word_embeddings:
      decoder = embedding(c, c.vocab_size, name="word_decoder")
    outputs["logits"] = MaskedTokens(c, name="masked_words")(words, decoder.embedding)
    if "entity_last_hidden_state" in outputs:
      decode_entities = MaskedTokens(c, name="masked_entities")
      table = luke.entity_embeddings.entity.embedding
      logits = decode_entities(outputs["entity_last_hidden_state"], table)
      outputs["entity_logits"] = logits[..., : c.entity_vocab_size]
    if c.cls_entity_prediction:
      outputs["page_entity"] = PageEntity(c, name="page_entity")(words)
    return outputs

  def loss(
    self,
    outputs: Outputs,
    labels: jax.Array | None = None,
    entity_labels: jax.Array | None = None,
    page_entity_embedding: jax.Array | None = None,
  ) -> jax.Array:
    """The sum of the losses that were given labels. -100 marks what was not masked."""
    total = jnp.zeros(())
    if labels is not None:
      total += losses.cross_entropy(outputs["logits"], labels)
    if entity_labels is not None:
      total += losses.cross_entropy(outputs["entity_logits"], entity_labels)
    if page_entity_embedding is not None:
      total += jnp.square(outputs["page_entity"] - page_entity_embedding).mean()
    return total


class LukeForEntityClassification(nn.Module):
  """Labels of the first entity, as in entity typing."""

  config: LukeConfig

  @nn.compact
  def __call__(
    self, *, entity_start_positions: jax.Array | None = None, **inputs: jax.Array
  ) -> Outputs:
    """Adds logits (B, C)."""
    outputs = LukeModel(self.config, name="luke")(**inputs)
    entity = _entity_states(outputs, entity_start_positions)[:, 0]
    return outputs | {"logits": _classify(self.config, entity)}

  def loss(self, outputs: Outputs, labels: jax.Array) -> jax.Array:
    """Labels are class numbers (B,), or 0 and 1 for every class (B, C)."""
    return losses.label_loss(outputs["logits"], labels)


class LukeForEntityPairClassification(nn.Module):
  """Labels of the first two entities, head and tail, as in relation classification."""

  config: LukeConfig

  @nn.compact
  def __call__(
    self, *, entity_start_positions: jax.Array | None = None, **inputs: jax.Array
  ) -> Outputs:
    """Adds logits (B, C)."""
    c = self.config
    outputs = LukeModel(c, name="luke")(**inputs)
    entities = _entity_states(outputs, entity_start_positions)
    pair = jnp.concatenate([entities[:, 0], entities[:, 1]], axis=-1)
    return outputs | {"logits": _classify(c, pair, use_bias=c.classifier_bias)}

  loss = LukeForEntityClassification.loss


class LukeForEntitySpanClassification(nn.Module):
  """Labels of every entity from its first word, its last word and itself, as in NER."""

  config: LukeConfig

  @nn.compact
  def __call__(
    self,
    *,
    entity_start_positions: jax.Array,
    entity_end_positions: jax.Array,
    **inputs: jax.Array,
  ) -> Outputs:
    """Adds logits (B, E, C). Starts and inclusive ends are (B, E)."""
    outputs = LukeModel(self.config, name="luke")(**inputs)
    features = span_features(
      outputs["last_hidden_state"],
      outputs.get("entity_last_hidden_state"),
      entity_start_positions,
      entity_end_positions,
    )
    return outputs | {"logits": _classify(self.config, features)}

  def loss(self, outputs: Outputs, labels: jax.Array) -> jax.Array:
    """Labels are class numbers (B, E), -100 ignored, or 0 and 1 for every class (B, E, C)."""
    return losses.label_loss(outputs["logits"], labels)


class LukeForCloze(nn.Module):
  """Scores every candidate entity for the placeholder, which is the first entity (ReCoRD)."""

  config: LukeConfig

  @nn.compact
  def __call__(
    self, *, entity_start_positions: jax.Array | None = None, **inputs: jax.Array
  ) -> Outputs:
    """Adds logits (B, E - 1), one for each candidate."""
    outputs = LukeModel(self.config, name="luke")(**inputs)
    entities = _entity_states(outputs, entity_start_positions)
    placeholder = jnp.broadcast_to(entities[:, :1], entities[:, 1:].shape)
    pairs = jnp.concatenate([placeholder, entities[:, 1:]], axis=-1)
    logits = _classify(self.config, pairs, labels=1, name="scorer")
    return outputs | {"logits": logits[..., 0]}

  def loss(self, outputs: Outputs, labels: jax.Array) -> jax.Array:
    """Labels (B, E - 1) are 1 for answers, 0 for the others and -100 for padding."""
    return losses.binary_cross_entropy(outputs["logits"], labels, kept=labels != losses.IGNORED)


class LukeForQuestionAnswering(nn.Module):
  """Scores every word as the start and as the end of an answer."""

  config: LukeConfig

  @nn.compact
  def __call__(self, **inputs: jax.Array) -> Outputs:
    """Adds start_logits and end_logits (B, W)."""
    outputs = LukeModel(self.config, add_pooling_layer=False, name="luke")(**inputs)
    logits = Dense(self.config, (2,), name="qa_outputs")(outputs["last_hidden_state"])
    return outputs | {"start_logits": logits[..., 0], "end_logits": logits[..., 1]}

  def loss(
    self, outputs: Outputs, start_positions: jax.Array, end_positions: jax.Array
  ) -> jax.Array:
    """Positions (B,); one outside the text asks for nothing."""
    logits = jnp.stack([outputs["start_logits"], outputs["end_logits"]], axis=-1)
    return losses.span_loss(logits, start_positions, end_positions)


class LukeForSequenceClassification(nn.Module):
  """Labels of the whole text, or one number if the config has a single label."""

  config: LukeConfig

  @nn.compact
  def __call__(self, **inputs: jax.Array) -> Outputs:
    """Adds logits (B, C)."""
    outputs = LukeModel(self.config, name="luke")(**inputs)
    return outputs | {"logits": _classify_text(self.config, outputs["pooler_output"])}

  def loss(self, outputs: Outputs, labels: jax.Array) -> jax.Array:
    """Labels are class numbers (B,), or 0 and 1 (B, C), or numbers (B,) to regress."""
    if self.config.num_labels == 1:
      return jnp.square(outputs["logits"][:, 0] - labels.reshape(-1)).mean()
    return losses.label_loss(outputs["logits"], labels)


class LukeForTokenClassification(nn.Module):
  """Labels of every word piece."""

  config: LukeConfig

  @nn.compact
  def __call__(self, **inputs: jax.Array) -> Outputs:
    """Adds logits (B, W, C)."""
    outputs = LukeModel(self.config, add_pooling_layer=False, name="luke")(**inputs)
    return outputs | {"logits": _classify_text(self.config, outputs["last_hidden_state"])}

  def loss(self, outputs: Outputs, labels: jax.Array) -> jax.Array:
    """Labels are class numbers (B, W), -100 ignored."""
    return losses.cross_entropy(outputs["logits"], labels)


class LukeForMultipleChoice(nn.Module):
  """Picks one of C texts; every input has an axis of choices after the batch."""

  config: LukeConfig

  @nn.compact
  def __call__(self, **inputs: jax.Array) -> Outputs:
    """Returns logits (B, C) and, of each choice, what LukeModel returns."""
    batch, choices = inputs["input_ids"].shape[:2]
    flat = {name: x.reshape(-1, *x.shape[2:]) for name, x in inputs.items()}
    outputs = LukeModel(self.config, name="luke")(**flat)
    logits = _classify_text(self.config, outputs["pooler_output"], labels=1)
    return outputs | {"logits": logits.reshape(batch, choices)}

  def loss(self, outputs: Outputs, labels: jax.Array) -> jax.Array:
    """Labels (B,) are the numbers of the right choices."""
    return losses.cross_entropy(outputs["logits"], labels)


def _entity_states(outputs: Outputs, starts: jax.Array | None) -> jax.Array:
  """States of the entities, (B, E, D); in a model of words only, those of the words they start at.

  With markers in the text that is the opening one, as in the paper's RoBERTa baselines.
  """
  if "entity_last_hidden_state" in outputs:
    return outputs["entity_last_hidden_state"]
  if starts is None:
    raise ValueError("without entity_ids the model needs entity_start_positions")
  return jnp.take_along_axis(outputs["last_hidden_state"], starts[..., None], axis=1)


def _classify(
  config: LukeConfig,
  features: jax.Array,
  *,
  labels: int | None = None,
  name: str = "classifier",
  use_bias: bool = True,
) -> jax.Array:
  dropped = Dropout(config.hidden_dropout_prob)(features)
  return Dense(config, (labels or config.num_labels,), use_bias=use_bias, name=name)(dropped)


def _classify_text(
  config: LukeConfig, features: jax.Array, *, labels: int | None = None
) -> jax.Array:
  rate = config.classifier_dropout
  dropped = Dropout(config.hidden_dropout_prob if rate is None else rate)(features)
  return Dense(config, (labels or config.num_labels,), name="classifier")(dropped)


ARCHITECTURES: dict[str, type[nn.Module]] = {
  model.__name__: model
  for model in (
    LukeModel,
    LukeForMaskedLM,
    LukeForEntityClassification,
    LukeForEntityPairClassification,
    LukeForEntitySpanClassification,
    LukeForCloze,
    LukeForQuestionAnswering,
    LukeForSequenceClassification,
    LukeForTokenClassification,
    LukeForMultipleChoice,
  )
}


# How many entities a class reads in every text; in a model of words only, their first words.
ENTITIES_NEEDED = {
  "LukeForEntityClassification": 1,
  "LukeForEntityPairClassification": 2,
  "LukeForEntitySpanClassification": 1,
  "LukeForCloze": 2,
}


def example_inputs(model: nn.Module) -> dict[str, jax.Array]:
  """The smallest inputs that touch every parameter of the model."""
  config: LukeConfig = model.config
  inputs = {"input_ids": jnp.full((1, 4), config.pad_token_id)}
  if config.entity_vocab_size:
    inputs["entity_ids"] = jnp.zeros((1, 2), int)
    inputs["entity_position_ids"] = jnp.zeros((1, 2, 1), int)
  spans = isinstance(model, LukeForEntitySpanClassification)
  if spans or (type(model).__name__ in ENTITIES_NEEDED and not config.entity_vocab_size):
    inputs["entity_start_positions"] = jnp.zeros((1, 2), int)
  if spans:
    inputs["entity_end_positions"] = jnp.zeros((1, 2), int)
  if isinstance(model, LukeForMultipleChoice):
    inputs = {name: x[:, None] for name, x in inputs.items()}
  return inputs


def initial_params(model: nn.Module, key: jax.Array) -> dict:
  """Fresh parameters: normal(0, initializer_range), norms at one, biases at zero."""
  return jax.jit(model.init)(key, **example_inputs(model))["params"]


def abstract_params(model: nn.Module) -> dict:
  """Shapes and types of the parameters, without making them."""
  return jax.eval_shape(model.init, jax.random.key(0), **example_inputs(model))["params"]
