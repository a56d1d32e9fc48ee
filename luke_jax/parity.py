"""Compares a model directory's keys, states and scores here and in transformers.

Needs the extra `parity`: PyTorch and transformers.
"""

import dataclasses
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np

from luke_jax.convert.adapters import is_adapter_directory
from luke_jax.convert.saving import torch_tensors
from luke_jax.errors import InputError, not_installed
from luke_jax.files import Path
from luke_jax.model import Model, load
from luke_jax.text import TextInput
from luke_jax.text.tokenizer import MASK2

# Written for this purpose: entities in brackets, none, one and many of them.
SENTENCES = (
  "The rain stopped before noon, and nobody had brought an umbrella anyway.",
  "When the last ferry left [Reykjavík], the harbour fell silent.",
  "[Marie Curie] left [Warsaw] for [Paris], where she studied at the [Sorbonne], met"
  " [Pierre Curie], and shared the [Nobel Prize in Physics] with him and [Henri Becquerel].",
)


@dataclasses.dataclass(frozen=True)
class Difference:
  """An output's distance from the reference's."""

  what: str
  largest: float
  mean: float


@dataclasses.dataclass(frozen=True)
class Parity:
  """A comparison's findings."""

  directory: str
  architecture: str
  transformers: str
  tolerance: float
  keys: dict[str, list[str]]  # missing, unexpected, shape
  batches: dict[str, list[Difference]]  # by the number of entities

  @property
  def passed(self) -> bool:
    """Returns whether all keys agree and no difference is beyond the tolerance."""
    rows = [row for rows in self.batches.values() for row in rows]
    return not any(self.keys.values()) and all(row.largest <= self.tolerance for row in rows)

  def as_json(self) -> dict[str, object]:
    """Returns the comparison as JSON values, for parity.json."""
    return dataclasses.asdict(self) | {"passed": self.passed}


def compare(directory: Path, tolerance: float = 1e-4) -> Parity:
  """Runs both sides in float32 on sentences with 0, 1 and many entities."""
  if is_adapter_directory(directory):
    raise InputError(
      f"{directory}: an adapter, which transformers does not read; expected what `luke-jax convert"
      f" {directory} DIRECTORY` writes"
    )
  if not directory.is_dir():
    raise InputError(f"{directory}: expected a directory, which transformers can read too")
  try:
    import torch
    import transformers
  except ImportError as missing:
    raise not_installed(missing.name, "for parity", "parity") from None
  model = load(directory)
  if MASK2 in model.report.added:
    raise InputError(
      f"{directory}: no {MASK2} among its entities, which transformers' tokenizer needs; expected"
      " what luke-jax convert makes of it"
    )
  reference = getattr(transformers, model.architecture, None)
  if reference is None:
    raise InputError(f"{directory}: transformers has no {model.architecture} to compare with")
  theirs, info = reference.from_pretrained(
    directory, output_loading_info=True, attn_implementation="eager", dtype=torch.float32
  )
  theirs.eval()
  batches = {}
  for name, inputs in _batches(model):
    with torch.no_grad():
      tensors = {key: torch.tensor(x, dtype=torch.long) for key, x in inputs.items()}
      expected = theirs(**tensors, output_hidden_states=True, output_attentions=True)
    # On a GPU, JAX's products of float32 are otherwise in TF32, and those of PyTorch are not.
    with jax.default_matmul_precision("highest"):
      states = model(**inputs, output_hidden_states=True, output_attentions=True)
      outputs = states | model(**inputs)  # outputs as they are computed when nobody looks inside
    batches[name] = list(_differences(outputs, expected))
  return Parity(
    str(directory),
    model.architecture,
    transformers.__version__,
    tolerance,
    _keys(model, theirs, info),
    batches,
  )


def _keys(model: Model, theirs: Any, info: dict[str, Any]) -> dict[str, list[str]]:
  """Returns the names that either side lacks or does not expect, and shapes that differ."""
  ours = {name: tensor.shape for name, tensor in torch_tensors(model)}
  shapes = {name: tuple(tensor.shape) for name, tensor in theirs.state_dict().items()}
  shapes = {name: shape for name, shape in shapes.items() if "decoder" not in name}
  differing = [n for n in shapes if n in ours and shapes[n] != ours[n]]
  return {
    "missing": sorted({*info["missing_keys"], *model.report.missing, *(shapes.keys() - ours)}),
    "unexpected": sorted({*info["unexpected_keys"], *model.report.unexpected}),
    "shape": sorted({*map(str, info["mismatched_keys"]), *differing}),
  }


def _batches(model: Model) -> Iterator[tuple[str, dict[str, Any]]]:
  """Yields named inputs with as many entities as the class takes."""
  for sentence in SENTENCES:
    text, spans = _unbracketed(sentence)
    spans = spans if model.backbone.entities else []
    if len(spans) < (model.network.head.entities if model.network.head else 0):
      continue
    if model.processor:
      plain = dataclasses.replace(model.processor, task=None)
      example = TextInput(text, spans or None)
      inputs = plain.pad(plain.encode([example], truncation=True))
    else:
      inputs = _random_inputs(model, spans)
    if not spans:
      inputs = {name: x for name, x in inputs.items() if not name.startswith("entity")}
    if model.kind == "span":
      positions = inputs["entity_position_ids"]
      inputs["entity_start_positions"] = positions[..., 0]
      inputs["entity_end_positions"] = positions.max(-1)
    if model.network.choices:
      inputs = {name: np.stack([x, x[:, ::-1]], axis=1) for name, x in inputs.items()}
    yield f"{len(spans)} entit{'y' if len(spans) == 1 else 'ies'}", inputs


def _unbracketed(sentence: str) -> tuple[str, list[tuple[int, int]]]:
  text, spans = "", []
  for piece in sentence.split("["):
    mention, bracket, rest = piece.rpartition("]")
    if bracket:
      spans.append((len(text), len(text) + len(mention)))
    text += mention + rest
  return text, spans


def _random_inputs(model: Model, spans: list[tuple[int, int]]) -> dict[str, np.ndarray]:
  """Returns random words, entities and mentions, for a directory without a tokenizer."""
  config, rng = model.config, np.random.default_rng(0)
  width, entities = min(24, config.room_for_words), max(len(spans), 1)
  starts = rng.integers(1, width - 3, (1, entities, 1))
  return {
    "input_ids": rng.integers(config.pad_token_id + 1, config.vocab_size, (1, width)),
    "attention_mask": np.ones((1, width), int),
    "entity_ids": rng.integers(0, max(1, model.backbone.entities), (1, entities)),
    "entity_attention_mask": np.ones((1, entities), int),
    "entity_position_ids": np.concatenate([starts, starts + 1, np.full_like(starts, -1)], axis=2),
  }


def _differences(outputs: dict[str, Any], expected: Any) -> Iterator[Difference]:
  """Yields differences of all states by layer, attention heads and outputs."""
  for name, value in expected.items():
    empty = isinstance(value, tuple) and (not value or value[0] is None)  # as cross_attentions
    if value is None or empty:
      continue
    if name == "attentions":
      for layer, probs in enumerate(value):
        for head in range(probs.shape[1]):
          what = f"attention, layer {layer}, head {head}"
          yield _difference(what, outputs[name][layer][:, head], probs[:, head])
    elif isinstance(value, tuple):
      kind = "entities" if name.startswith("entity") else "words"
      for layer, states in enumerate(value):
        yield _difference(f"{kind}, layer {layer}", outputs[name][layer], states)
    else:
      yield _difference(name, outputs[name], value)


def _difference(what: str, output: Any, expected: Any) -> Difference:
  distance = np.abs(
    np.asarray(output, np.float64) - expected.double().numpy().reshape(output.shape)
  )
  return Difference(what, float(distance.max()), float(distance.mean()))
