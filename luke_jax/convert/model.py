"""A model as people hold it: its parts, its weights, and what turns text into its inputs."""

import dataclasses
import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np

from luke_jax.config import LukeConfig
from luke_jax.convert.inputs import check_inputs
from luke_jax.convert.keys import Report
from luke_jax.convert.tensors import Dtype
from luke_jax.errors import InputError
from luke_jax.text import LukeProcessor, Tokenizer


@dataclasses.dataclass(frozen=True)
class Model:
  """A module with its parameters, its labels and its text side. Made by `luke_jax.load`."""

  module: nn.Module
  params: dict
  labels: tuple[str, ...] = ()
  tokenizer: Tokenizer | None = None
  processor: LukeProcessor | None = None
  report: Report = dataclasses.field(default_factory=Report)
  rest: dict[str, Any] = dataclasses.field(default_factory=dict)  # of its config.json

  def __post_init__(self) -> None:
    if len(set(self.labels)) < len(self.labels):
      raise InputError(f"labels: {', '.join(self.labels)}; expected each of them once")
    if self.labels and len(self.labels) != self.config.num_labels:
      found = f"labels: {len(self.labels)}"
      raise InputError(f"{found}; expected {self.config.num_labels}, the config's num_labels")

  @property
  def config(self) -> LukeConfig:
    """The sizes, and how it runs."""
    return getattr(self.module, "config")  # noqa: B009

  @property
  def architecture(self) -> str:
    """The name of its class, such as LukeForEntityClassification."""
    return type(self.module).__name__

  def __call__(
    self, *, output_hidden_states: bool = False, output_attentions: bool = False, **inputs: Any
  ) -> dict[str, jax.Array]:
    """Runs the model without dropout on inputs named as in Hugging Face.

    hidden_states (L + 1, B, W, D), entity_hidden_states (L + 1, B, E, D) and attentions
    (L, B, N, T, T) are returned on request.
    """
    arrays = {name: np.asarray(x) for name, x in inputs.items() if x is not None}
    check_inputs(self.module, arrays)
    if not (output_hidden_states or output_attentions):
      return _apply(self.module, self.on_device, arrays)
    outputs, states = _apply_with_states(self.module, self.on_device, arrays)
    if not output_attentions:
      del states["attentions"]
    return outputs | (states if output_hidden_states else {"attentions": states["attentions"]})

  def predict(self, texts: str | Sequence[str], **fields: Any) -> Any:
    """What a fine-tuned model says of one text, or of each text of a list.

    Results are typed and say which characters of the text they are about. `fields` are those of
    the task's files: `span` for typing, `head` and `tail` for relations, `question` for questions,
    `query` and `entities` for cloze; for a list of texts, a list with a value for each.
    """
    from luke_jax.inference.predicting import predict

    return predict(self, texts, **fields)

  def save(self, path: str | Path, *, dtype: Dtype = "float32") -> None:
    """Writes the directory that `luke_jax.load` and both majors of transformers read."""
    from luke_jax.convert.saving import save

    save(self, path, dtype=dtype)

  @functools.cached_property
  def on_device(self) -> dict:
    """The parameters, sent to the accelerator once and not with every call."""
    return jax.device_put(self.params)

  def label_id(self, label: str) -> int:
    """The number of a label."""
    try:
      return self.labels.index(label)
    except ValueError:
      known = ", ".join(self.labels) or "none"
      raise InputError(f"label {label!r}: unknown; expected one of {known}") from None


@functools.partial(jax.jit, static_argnames="module")
def _apply(module: nn.Module, params: dict, inputs: dict) -> Any:
  return module.apply({"params": params}, **inputs)


@functools.partial(jax.jit, static_argnames="module")
def _apply_with_states(module: nn.Module, params: dict, inputs: dict) -> tuple[dict, dict]:
  applied: Any = module.apply({"params": params}, **inputs, mutable=["intermediates"])
  outputs, sown = applied[0], applied[1]["intermediates"]
  encoder = sown.get("luke", sown)["encoder"]
  (first,), (rest,) = encoder["input"], encoder["layers"]["output"]
  (probs,) = encoder["layers"]["attention"]["probs"]
  states = jnp.concatenate([first[None], rest])
  num_words = inputs["input_ids"].shape[-1]
  named = {"hidden_states": states[:, :, :num_words], "attentions": probs}
  if "entity_ids" in inputs:
    named["entity_hidden_states"] = states[:, :, num_words:]
  return outputs, named
