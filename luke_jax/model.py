"""The model that users hold: read from a directory, run on texts, written to a directory."""

import dataclasses
import functools
import html
from collections.abc import Mapping, Sequence
from typing import Any, overload

import jax
import jax.numpy as jnp
import numpy as np

from luke_jax.convert.adapters import save_adapter
from luke_jax.convert.parts import ModelParts
from luke_jax.convert.reading import Sent, fetch, push, read
from luke_jax.convert.saving import TRANSFORMERS, Form, save
from luke_jax.convert.tensors import Dtype
from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.inference.batches import roomy_widths
from luke_jax.inference.predicting import predict
from luke_jax.inference.settings import own_head
from luke_jax.models.config_files import check_range
from luke_jax.models.head import Outputs
from luke_jax.models.network import Network, apply, in_order
from luke_jax.models.system import System
from luke_jax.nn.encoder import stack_sown
from luke_jax.tasks.predictions import Answer, Fact, Relation, Span, Types
from luke_jax.text import EntityVocab

Characters = tuple[int, int] | list[int]  # the first one, and the one after the last
_MOST_LABELS = 8
_USED = ("predict", "save", "push_to_hub", "label_id", "config", "system", "architecture", "kind")
_USED += ("labels", "params", "network", "tokenizer", "processor", "report", "with_config")


class Model(ModelParts):
  """A network with its parameters, its labels and its text side. Made by `luke_jax.load`."""

  @classmethod
  def of(cls, parts: ModelParts) -> "Model":
    """Returns the model of these parts, whose processor pads to what `predict` compiles for."""
    fields = {field.name: getattr(parts, field.name) for field in dataclasses.fields(parts)}
    if parts.processor:
      fields["processor"] = dataclasses.replace(parts.processor, widths=roomy_widths())
    return cls(**fields)

  def __call__(
    self,
    *texts: object,
    output_hidden_states: bool = False,
    output_attentions: bool = False,
    **inputs: Any,
  ) -> dict[str, jax.Array]:
    """Runs the model without dropout on inputs named as in Hugging Face.

    hidden_states (L + 1, B, W, D), entity_hidden_states (L + 1, B, E, D) and attentions
    (L, B, N, T, T) are returned on request.
    """
    if texts:
      raise InputError(
        f"model({texts[0]!r:.40}): expected inputs by name, as model(**model.processor(text));"
        " model.predict(text) reads a text"
      )
    arrays = {name: np.asarray(x) for name, x in inputs.items() if x is not None}
    check_inputs(self.network, arrays)
    if not (output_hidden_states or output_attentions):
      return dict(_apply(*self.predicting, arrays))
    outputs, states = _apply_with_states(*self.predicting, arrays)
    if not output_attentions:
      del states["attentions"]
    return outputs | (states if output_hidden_states else {"attentions": states["attentions"]})

  @overload
  def predict(self, texts: str) -> list[Span]: ...
  @overload
  def predict(self, texts: str, *, span: Characters) -> Types: ...
  @overload
  def predict(self, texts: str, *, head: Characters, tail: Characters) -> Relation: ...
  @overload
  def predict(self, texts: str, *, names: Sequence[object]) -> list[Fact]: ...
  @overload
  def predict(self, texts: str, *, question: str, **fields: object) -> list[Answer]: ...
  @overload
  def predict(self, texts: str, *, query: str, entities: Sequence[Characters]) -> list[Answer]: ...
  @overload
  def predict(self, texts: Sequence[str], **fields: object) -> list[Any]: ...
  def predict(self, texts: str | Sequence[str], **fields: Any) -> Any:
    """Returns the prediction of a fine-tuned model for one text, or for each text of a list.

    Results are typed and have the characters of the text they are about. `fields` are those of
    the task's files: `span` for typing, `head` and `tail` for relations, `names` for facts,
    `question` for questions, `query` and `entities` for cloze, `mentions` for linking; for a list
    of texts, a list with a value for each. What has a score below `threshold` is left out. `labels`
    are those that a model with labels at run time looks for, and a linker takes other `knowledge`
    than in training.
    """
    return predict(self, texts, **fields)

  def save(
    self,
    path: str | Path,
    *,
    dtype: Dtype = "float32",
    form: Form = TRANSFORMERS,
    adapter: bool = False,
  ) -> None:
    """Writes the directory that `luke_jax.load` and both majors of transformers read.

    `form` writes other names and files instead: those of Paddle for an ERNIE of Baidu, or of the
    authors for a TENER. `adapter` writes only what training changed, a few megabytes that
    `luke_jax.load` reads where the backbone is: of a model trained with `optimizer.adapter`.
    """
    if adapter:
      save_adapter(self, path)
    else:
      save(self, path, dtype=dtype, form=form)

  def push_to_hub(
    self,
    name: str,
    *,
    public: bool = False,
    dtype: Dtype = "float32",
    adapter: bool = False,
    dry_run: bool = False,
  ) -> Sent:
    """Sends what `save` writes to Hugging Face's hub, as owner/name, and returns what was sent.

    A new model is private there unless it is to be public; a dry run sends nothing.
    """
    return push(self, name, public=public, adapter=adapter, dtype=dtype, dry_run=dry_run)

  def label_id(self, label: str) -> int:
    """Returns the number of a label."""
    try:
      return self.labels.index(label)
    except ValueError:
      names = ", ".join(self.labels) or "none"
      raise InputError(f"label {label!r}: unknown; expected one of {names}") from None

  def __dir__(self) -> list[str]:
    """Lists what people use, for tab completion."""
    return list(_USED)

  def __repr__(self) -> str:
    lines = (f"  {name}: {value}" for name, value in _rows(self).items())
    return "\n".join([f"Model({self.architecture})", *lines])

  def _repr_html_(self) -> str:
    rows = "".join(
      f"<tr><th style='text-align:left'>{html.escape(name)}</th><td>{html.escape(value)}</td></tr>"
      for name, value in _rows(self).items()
    )
    return f"<table><caption>{html.escape(self.architecture)}</caption>{rows}</table>"


def load(
  path: str | Path,
  *,
  system: type[System] | str | None = None,
  head: str | None = None,
  labels: Sequence[str] | None = None,
  tokenizer: str | Path | None = None,
  entity_vocab: EntityVocab | None = None,
  task: type | None = None,
  backbone: str | Path | None = None,
  as_encoder: bool = False,
  download: bool = False,
  seed: int = 0,
  **fields: Any,
) -> Model:
  """Reads a model from a Hugging Face directory, an archive of LUKE's authors, or an adapter.

  `system` names the system to read the files as: a LUKE starts from a RoBERTa, XLM-R or BERT, and
  does so where `entity_vocab` is given. `head` names another head than the files have: "span",
  "pair", "masked" and so on; it is initialised from `seed`, as all that the files lack is. What
  was initialised and what was left over is in `report` and in a warning. `tokenizer` is a directory
  to take one from, since archives hold none. `task` is the class of a user's own task that the
  model was made for. `backbone` is the directory of an adapter's backbone, where `luke-jax get` did
  not fetch it. `as_encoder` reads a model that was trained to read from left to right as one that
  reads both ways. A model of Hugging Face's hub, hf://owner/name, is fetched with `download`, and
  never without it; what was fetched before is read. `fields` change the config and how the model
  runs: `dtype="bfloat16"`.
  """
  if not isinstance(path, str | Path) or not str(path):
    raise InputError(f"load: {path!r}; expected the directory of a model")
  if download:
    path = fetch(path)
  changes: dict[str, Any] = {"system": system, "labels": labels, "tokenizer": tokenizer}
  changes |= {"head": own_head(task) if task else head, "entity_vocab": entity_vocab}
  changes |= {"as_encoder": as_encoder}
  return Model.of(
    dataclasses.replace(read(path, seed=seed, backbone=backbone, **changes, **fields), task=task)
  )


@functools.partial(jax.jit, static_argnames="network")
def _apply(network: Network, params: dict, inputs: dict) -> Outputs:
  return in_order(apply(network, params, inputs))


@functools.partial(jax.jit, static_argnames="network")
def _apply_with_states(network: Network, params: dict, inputs: dict) -> tuple[dict, dict]:
  applied: Any = network.apply({"params": params}, **inputs, mutable=["intermediates"])
  outputs, sown = applied[0], applied[1]["intermediates"]
  encoder = sown[network.backbone.config.name]["encoder"]
  if "layers" not in encoder:
    encoder = stack_sown(encoder)
  (first,), (rest,) = encoder["input"], encoder["layers"]["output"]
  (probs,) = encoder["layers"]["attention"]["probs"]
  states = jnp.concatenate([first[None], rest])
  num_words = inputs["input_ids"].shape[-1]
  # The last is what heads read: of some systems, normalised after all layers.
  words = states.at[-1, :, :num_words].set(outputs["last_hidden_state"])[:, :, :num_words]
  named = {"hidden_states": words, "attentions": probs}
  if "entity_ids" in inputs:
    named["entity_hidden_states"] = states[:, :, num_words:]
  return outputs, named


def _rows(model: ModelParts) -> Mapping[str, str]:
  """Returns the lines that a terminal and a notebook show of a model, by name."""
  config = model.config
  count = sum(x.size for x in jax.tree.leaves(model.params))
  heads = f"{config.num_attention_heads} heads"
  rows = {
    "system": model.config.title,
    "sizes": f"{config.num_hidden_layers} layers, width {config.hidden_size}, {heads}",
    "words": f"{config.vocab_size:,}",
    "parameters": f"{count:,}",
  }
  if model.start:
    rows["adapters of"] = str(model.start.directory)
  if model.backbone.entities:
    rows["entities"] = f"{model.backbone.entities:,}"
  if model.labels:
    more = " …" if len(model.labels) > _MOST_LABELS else ""
    rows["labels"] = f"{len(model.labels)}: {', '.join(model.labels[:_MOST_LABELS])}{more}"
  if model.tokenizer is None:
    rows["text"] = "no tokenizer"
  return rows


WORDS = ("attention_mask", "token_type_ids", "position_ids")
ENTITIES = (
  "entity_attention_mask",
  "entity_token_type_ids",
  "entity_start_positions",
  "entity_end_positions",
)


def check_inputs(network: Network, inputs: Mapping[str, np.ndarray]) -> None:
  """Raises InputError for ids without a row, shapes that do not match, and too few entities."""
  config = network.backbone.config
  words = inputs.get("input_ids")
  axes = ("batch", "choices", "words") if network.choices else ("batch", "words")
  if words is None or words.ndim != len(axes) or not words.shape[-1]:
    actual = "missing" if words is None else f"shape {words.shape}"
    raise InputError(f"input_ids: {actual}; expected ({', '.join(axes)})")
  _check_shapes(inputs, words.shape, WORDS)
  room = config.room_for_words
  if words.shape[-1] > room:
    raise InputError(f"input_ids: {words.shape[-1]} words; expected at most {room}")
  check_range("input_ids", words, config.vocab_size)
  for name, field in (
    ("token_type_ids", "type_vocab_size"),
    ("entity_token_type_ids", "type_vocab_size"),
    ("position_ids", "max_position_embeddings"),
  ):
    if name in inputs:
      check_range(name, inputs[name], getattr(config, field))
  _check_own(network, inputs)
  _check_slots(network, inputs)
  _check_entities(network, inputs)


def _check_own(network: Network, inputs: Mapping[str, np.ndarray]) -> None:
  """Raises InputError for inputs of the head alone that are missing, or have no row."""
  for name, shape in network.own_inputs.items():
    expected = (*inputs["input_ids"].shape[:-1], *shape)
    if name not in inputs or inputs[name].shape != expected:
      actual = f"shape {inputs[name].shape}" if name in inputs else "missing"
      raise InputError(f"{name}: {actual}; expected {expected}")
  if network.head is not None:
    network.head.check_inputs(inputs)


def _check_slots(network: Network, inputs: Mapping[str, np.ndarray]) -> None:
  """Raises InputError for vectors of entities that do not fit the words they are aligned to."""
  width = network.backbone.decoders.vectors
  for name, shape in (("entity_vectors", (width,)), ("entity_mask", ())):
    if name not in inputs:
      continue
    if not width:
      raise InputError(f"{name}: given; expected none, for the model reads no vectors of entities")
    expected = (*inputs["input_ids"].shape, *shape)
    if inputs[name].shape != expected:
      raise InputError(f"{name}: shape {inputs[name].shape}; expected {expected}")


def _check_entities(network: Network, inputs: Mapping[str, np.ndarray]) -> None:
  rows = network.backbone.entities
  needed = 0 if network.head is None else network.head.entities
  entities, words = inputs.get("entity_ids"), inputs["input_ids"]
  if entities is None:
    if needed and rows:
      raise InputError(f"entity_ids: missing; expected {needed} entities or more for each text")
    if needed:
      _check_places(inputs, words.shape[-1], needed)
    return
  if not rows:
    raise InputError("entity_ids: given; expected none, for the model has no entities")
  if entities.ndim != words.ndim or entities.shape[:-1] != words.shape[:-1]:
    raise InputError(
      f"entity_ids: shape {entities.shape}; expected {(*words.shape[:-1], 'entities')}"
    )
  if entities.shape[-1] < needed:
    raise InputError(f"entity_ids: {entities.shape[-1]} for each text; expected {needed} or more")
  positions = inputs.get("entity_position_ids")
  if positions is None or positions.shape[:-1] != entities.shape:
    actual = "missing" if positions is None else f"shape {positions.shape}"
    raise InputError(f"entity_position_ids: {actual}; expected {(*entities.shape, 'positions')}")
  _check_shapes(inputs, entities.shape, ENTITIES)
  check_range("entity_ids", entities, rows)
  check_range("entity_position_ids", positions, words.shape[-1], least=-1)
  for name in ENTITIES[2:]:
    if name in inputs:
      check_range(name, inputs[name], words.shape[-1])


def _check_places(inputs: Mapping[str, np.ndarray], words: int, needed: int) -> None:
  """Raises InputError unless a model of words only has the places of the entities it needs."""
  starts = inputs.get("entity_start_positions")
  batch = len(inputs["input_ids"])
  if starts is None or starts.ndim != 2 or len(starts) != batch or starts.shape[1] < needed:
    actual = "missing" if starts is None else f"shape {starts.shape}"
    raise InputError(
      f"entity_start_positions: {actual}; expected ({batch}, {needed} or more), for the model has"
      " no entities"
    )
  _check_shapes(inputs, starts.shape, ENTITIES[3:])
  for name in ENTITIES[2:]:
    if name in inputs:
      check_range(name, inputs[name], words)


def _check_shapes(
  inputs: Mapping[str, np.ndarray], shape: tuple[int, ...], names: tuple[str, ...]
) -> None:
  for name in names:
    if name in inputs and inputs[name].shape != shape:
      raise InputError(f"{name}: shape {inputs[name].shape}; expected {shape}")
