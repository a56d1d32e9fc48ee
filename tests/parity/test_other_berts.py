"""DistilBERT and ELECTRA against transformers: states, losses, gradients and files."""

import json

import jax
import numpy as np
import pytest
from parity.test_bert import KINDS, SIZES, outputs_of

import luke_jax
from luke_jax.models import keys
from luke_jax.models.keys import LoadReport
from luke_jax.systems.mpnet import buckets

pytestmark = pytest.mark.parity
STEMS = ("DistilBert", "Electra", "Albert", "MPNet", "ModernBert", "DebertaV2")
NARROW = ("Electra", "Albert")  # tables of words, and types of these
CLASSES = [f"{stem}{kind}" for stem in STEMS[:4] for kind in KINDS]
OTHERS = [  # forms that the classes above do not have
  ("DistilBertForSequenceClassification", {"activation": "relu", "sinusoidal_pos_embds": True}),
  ("DistilBertForMaskedLM", {"activation": "silu", "tie_word_embeddings": False}),
  ("ElectraForMaskedLM", {"hidden_act": "relu", "embedding_size": SIZES["hidden_size"]}),
  ("AlbertForMaskedLM", {"hidden_act": "relu", "embedding_size": SIZES["hidden_size"]}),
  ("AlbertForTokenClassification", {"num_hidden_layers": 5}),
]
LABELS = {
  "ForMaskedLM": {"labels": [[-100, 5, -100, 9, 30, -100, 7, 0, -100]] * 3},
  "ForSequenceClassification": {"labels": [2, 0, 1]},
  "ForTokenClassification": {"labels": [[-100, 0, 2, 1, -100, -100, 1, 0, 2]] * 3},
  "ForQuestionAnswering": {"start_positions": [1, 2, 12], "end_positions": [3, 2, 12]},
  "ForMultipleChoice": {"labels": [1, 0, 1]},
}


def stem_of(name):
  return next(stem for stem in STEMS if name.startswith(stem))


def reference(name, **fields):
  """A random model of a class, with no value at a special place."""
  torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
  stem = stem_of(name)
  own, sizes = {"embedding_size": 12} if stem in NARROW else {}, dict(SIZES)
  if stem == "DistilBert":
    own = {"hidden_dim": sizes.pop("intermediate_size")}
  if stem not in NARROW:
    del sizes["type_vocab_size"]
  labels = 2 if name.endswith("QuestionAnswering") else 3
  fields = {"num_labels": labels, "attn_implementation": "eager"} | own | fields
  torch.manual_seed(0)
  model = getattr(transformers, name)(getattr(transformers, f"{stem}Config")(**(sizes | fields)))
  with torch.no_grad():
    for parameter in model.parameters():
      parameter.add_(torch.randn_like(parameter) * 0.2)
  return model.eval()


def inputs(name):
  rng = np.random.default_rng(0)
  ids = rng.integers(3, 40, (3, 2, 9) if "MultipleChoice" in name else (3, 9))
  pad = int(stem_of(name) == "MPNet")
  ids[0, ..., 6:] = pad
  arrays = {"input_ids": ids, "attention_mask": (ids != pad).astype(int)}
  types = (np.arange(9) >= 4).astype(int) * np.ones_like(ids)
  return arrays | ({"token_type_ids": types} if stem_of(name) in NARROW else {})


def labels_of(name):
  return LABELS.get(name.removeprefix(stem_of(name)), {})


def expectation(name, model, arrays, labels=None):
  """Outputs by name, the loss, and its gradients by the names of tensors."""
  import torch

  labels = labels or labels_of(name)
  tensors = {x: torch.tensor(value) for x, value in (arrays | labels).items()}
  found = dict(model(**tensors, output_hidden_states=True, output_attentions=True))
  loss = found.pop("loss") if labels else found["last_hidden_state"].square().mean()
  loss.backward()
  gradients = {x: p.grad.numpy() for x, p in model.named_parameters() if p.grad is not None}
  layers = {x: torch.stack(v) if isinstance(v, tuple) else v for x, v in found.items() if len(v)}
  return {x: v.detach().numpy() for x, v in layers.items()}, loss.item(), gradients


def assert_same(name, model, arrays, expected, labels=None):
  """Compares outputs, the loss and its gradients with those of transformers."""
  outputs, loss, gradients = expected
  labels = {x: np.array(value) for x, value in (labels or labels_of(name)).items()}

  def ours(params):
    result = model.network.apply({"params": params}, **arrays)
    states = (result["last_hidden_state"] ** 2).mean()
    return model.network.loss(result, **labels) if labels else states, result

  (value, found), gradient = jax.jit(jax.value_and_grad(ours, has_aux=True))(model.params)
  if model.kind == "none":  # the encoder is that of all classes
    found |= model(**arrays, output_hidden_states=True, output_attentions=True)
    assert outputs.keys() <= found.keys()
  for output in outputs.keys() & found.keys():
    expected = outputs[output].reshape(found[output].shape)
    np.testing.assert_allclose(found[output], expected, atol=1e-5, err_msg=output)
  np.testing.assert_allclose(value, loss, rtol=1e-5)
  table, largest = model.config.keys(model.kind), max(np.abs(x).max() for x in gradients.values())
  start = f"{table.encoder}." if model.kind == "none" else ""
  tensors = dict(keys.to_torch(jax.device_get(gradient), table))
  # Version 4 does not train sinusoidal positions, version 5 does. States alone train no pooler.
  untrained = ("position", "pooler", "rel_embeddings")
  trained = {x for x in tensors if not any(part in x for part in untrained)}
  assert trained <= {start + x for x in gradients} <= tensors.keys()
  for tensor, x in gradients.items():
    np.testing.assert_allclose(tensors[start + tensor], x, atol=1e-5 * largest, err_msg=tensor)


@pytest.mark.parametrize(("name", "fields"), [*((name, {}) for name in CLASSES), *OTHERS])
def test_every_class_both_ways(tmp_path, name, fields):
  import transformers

  theirs, arrays = reference(name, **fields), inputs(name)
  theirs.save_pretrained(tmp_path / "theirs")
  model = luke_jax.load(tmp_path / "theirs")
  assert model.architecture == name and not (model.report.missing or model.report.unexpected)
  assert_same(name, model, arrays, expectation(name, theirs, arrays))
  model.save(tmp_path / "ours")
  again, info = getattr(transformers, name).from_pretrained(
    tmp_path / "ours", output_loading_info=True, attn_implementation="eager"
  )
  assert not info["missing_keys"] and not info["unexpected_keys"] and not info["mismatched_keys"]
  before, after = theirs.state_dict(), again.state_dict()
  assert before.keys() == after.keys()
  for tensor, value in before.items():
    np.testing.assert_array_equal(after[tensor].numpy(), value.numpy(), err_msg=tensor)
  configs = [tmp_path / folder / "config.json" for folder in ("theirs", "ours")]
  wrote, written = (json.loads(path.read_text()) for path in configs)
  assert {x: written.get(x) for x in wrote} == wrote


def test_distances_have_the_buckets_of_the_reference():
  torch = pytest.importorskip("torch")
  from transformers.models.mpnet.modeling_mpnet import MPNetEncoder

  apart = torch.arange(600)[None] - torch.arange(600)[:, None]
  np.testing.assert_array_equal(buckets(600), MPNetEncoder.relative_position_bucket(apart))


def test_a_discriminator_is_an_encoder_to_fine_tune(tmp_path):
  """As in transformers, whose other classes leave its head over as well."""
  import transformers

  reference("ElectraForPreTraining").save_pretrained(tmp_path)
  with pytest.warns(UserWarning, match=r"4 left over \(discriminator_predictions\.dense\.bias"):
    model = luke_jax.load(tmp_path)
  assert (model.architecture, model.report.missing) == ("ElectraModel", ())
  assert all(x.startswith("discriminator_predictions.") for x in model.report.unexpected)
  theirs, arrays = transformers.ElectraModel.from_pretrained(tmp_path), inputs("ElectraModel")
  expected = outputs_of(theirs.eval(), arrays)["last_hidden_state"]
  np.testing.assert_allclose(model(**arrays)["last_hidden_state"], expected, atol=1e-5)


def test_a_generator_that_reads_from_left_to_right_is_an_encoder_by_request(tmp_path):
  import transformers

  made = reference("ElectraForMaskedLM", is_decoder=True)
  theirs = transformers.ElectraForCausalLM(made.config)
  theirs.load_state_dict(made.state_dict())
  theirs.save_pretrained(tmp_path)
  model = luke_jax.load(tmp_path, as_encoder=True)
  assert (model.architecture, model.report) == ("ElectraForMaskedLM", LoadReport())
