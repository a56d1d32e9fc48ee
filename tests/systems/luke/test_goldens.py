"""Every class of the reference, checked against files that PyTorch made."""

import dataclasses
import json
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from networks import network

from luke_jax.heads.kinds import class_names
from luke_jax.model import Model
from luke_jax.models import keys
from luke_jax.models.network import abstract_params
from luke_jax.systems.luke import LukeConfig
from luke_jax.systems.luke.keys import KEYS

FILES = sorted((Path(__file__).parents[2] / "goldens" / "models").glob("*.npz"))
LABELS = ("labels", "entity_labels", "page_entity_embedding", "start_positions", "end_positions")


OF_LAYERS = ("loss", "hidden_states", "entity_hidden_states", "attentions")


@dataclasses.dataclass(frozen=True)
class Golden:
  model: Model
  inputs: dict
  labels: dict
  outputs: dict
  loss: np.ndarray
  grads: dict


def group(record, prefix):
  return {k.removeprefix(prefix): record[k] for k in record if k.startswith(prefix)}


def read(path, **run):
  with np.load(path) as file:
    record = dict(file)
  raw = json.loads(str(record["config"]))
  tensors = {KEYS.canonical(k): v for k, v in group(record, "param:").items()}
  raw["cls_entity_prediction"] = "cls_entity_predictions.bias" in tensors
  described = LukeConfig.read_config(raw, path)
  bias = "classifier.bias" in tensors
  labels = described.num_labels
  made = network(described.architecture, described.config, labels=labels, bias=bias, **run)
  params = from_torch(made, tensors)
  inputs = group(record, "input:")
  labels = {k: inputs.pop(k) for k in LABELS if k in inputs}
  grads = {KEYS.canonical(k): v for k, v in group(record, "grad:").items()}
  return Golden(
    Model(made, params),
    inputs,
    labels,
    group(record, "output:"),
    record["loss"],
    from_torch(made, {k: grads.get(k, np.zeros_like(v)) for k, v in tensors.items()}),
  )


def from_torch(made, tensors):
  params, report = keys.from_torch(tensors.__getitem__, tensors, abstract_params(made), KEYS)
  assert not report.missing
  assert not report.copied
  return params


def probe(outputs):
  """The loss of the bare model, as the script that made the goldens has it."""
  names = ("last_hidden_state", "pooler_output", "entity_last_hidden_state")
  parts = [outputs[name] for name in names if name in outputs]
  return sum((p * jnp.cos(jnp.arange(p.size, dtype=float).reshape(p.shape))).mean() for p in parts)


def loss(made, params, golden):
  outputs = made.apply({"params": params}, **golden.inputs)
  return made.loss(outputs, **golden.labels) if golden.labels else probe(outputs), outputs


def check_outputs(golden, outputs):
  for name, expected in golden.outputs.items():
    if name in outputs:
      found = np.reshape(outputs[name], expected.shape)  # of choices, (B x choices, 1) there
      np.testing.assert_allclose(found, expected, atol=1e-5, rtol=0, err_msg=name)


def named(start):
  return [path for path in FILES if path.stem.startswith(start)]


@pytest.mark.parametrize("form", ["blocks", "einsum"])
@pytest.mark.parametrize("path", named("LukeModel"))
def test_states(path, form):
  """Of all layers, which do not see the head that is on them."""
  golden = read(path, attention=form)
  outputs = golden.model(**golden.inputs, output_hidden_states=True, output_attentions=True)
  assert {k for k in golden.outputs if k != "loss"} <= set(outputs)
  check_outputs(golden, outputs)


# Heads that read words, entities and both; what the others compute is a part of that.
HEADS = (
  "LukeForMaskedLM",
  "LukeForEntitySpanClassification",
  "LukeForMultipleChoice",
  "PageEntity",
)


def variants():
  """Every file, slow but for some heads, and for one form of attention, which heads do not see.

  Of the bare model, those whose encoder no head here has.
  """
  for path in FILES:
    quick = path.stem.startswith(HEADS) and not path.stem.endswith("-original")
    shown = quick or path.stem in ("LukeModel-aware", "LukeModel-original")
    yield pytest.param(path, "none", marks=[] if shown else [pytest.mark.slow])
  for remat in ("dots", "full"):
    yield pytest.param(*named("LukeForMaskedLM-aware"), remat, marks=pytest.mark.slow)


@pytest.mark.parametrize(("path", "remat"), list(variants()))
def test_outputs_loss_and_gradients(path, remat):
  golden = read(path, remat=remat)
  made = golden.model.network
  step = jax.jit(jax.value_and_grad(lambda params: loss(made, params, golden), has_aux=True))
  (value, outputs), grads = step(golden.model.params)
  assert {k for k in golden.outputs if k not in OF_LAYERS} <= set(outputs)
  check_outputs(golden, outputs)
  np.testing.assert_allclose(value, golden.loss, rtol=1e-4)
  expected_grads, grads = keys.flatten(golden.grads), keys.flatten(grads)
  largest = max(np.abs(x).max() for x in expected_grads.values())
  for name, expected in expected_grads.items():
    # Some gradients are zero but for rounding: a key's bias, where all queries are shared.
    scale = max(np.abs(expected).max(), 1e-2 * largest)
    found = grads[name]
    np.testing.assert_allclose(found / scale, expected / scale, atol=1e-4, rtol=0, err_msg=name)


def test_every_class_has_goldens():
  seen = set()
  for path in FILES:
    with np.load(path) as file:
      seen |= set(json.loads(str(file["config"]))["architectures"])
  # transformers has none of them; tests/nn/test_crf.py compares the chain with pytorch-crf, and
  # tests/heads/attributes/test_layers.py the layers with golden numbers.
  kinds = ("crf", "attributes", "mean_text", "linking", "match", "facts")
  others = {class_names(LukeConfig)[kind] for kind in kinds}
  assert seen == set(class_names(LukeConfig).values()) - others
