"""ModernBERT against transformers: states, losses, gradients and files."""

import json

import numpy as np
import pytest
from parity.test_bert import KINDS, SIZES
from parity.test_other_berts import assert_same, expectation

import luke_jax
from luke_jax.errors import InputError

pytestmark = [
  pytest.mark.parity,
  pytest.mark.filterwarnings("ignore:.torch.jit.script:DeprecationWarning"),  # transformers 4
]
OWN = {"num_hidden_layers": 5, "local_attention": 6, "pad_token_id": 0}
CASES = [(f"ModernBert{kind}", {}) for kind in KINDS]
CASES += [
  ("ModernBertForSequenceClassification", {"classifier_pooling": "mean"}),
  ("ModernBertForMaskedLM", {"tie_word_embeddings": False, "hidden_activation": "silu"}),
  ("ModernBertForTokenClassification", {"classifier_activation": "relu"}),
  ("ModernBertModel", {"global_attn_every_n_layers": 1, "num_hidden_layers": 1}),
  ("ModernBertModel", {"global_attn_every_n_layers": 2, "local_attention": 4}),
  (
    "ModernBertForMaskedLM",
    {
      "rope_parameters": {
        x: {"rope_type": "default", "rope_theta": 99.0}
        for x in ("full_attention", "sliding_attention")
      }
    },
  ),
]


def reference(name, **fields):
  """A random model of a class, with no value at a special place."""
  torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
  sizes = {x: SIZES[x] for x in SIZES if x != "type_vocab_size"} | OWN | fields
  labels = 2 if name.endswith("QuestionAnswering") else 3
  config = transformers.ModernBertConfig(
    **sizes, num_labels=labels, attn_implementation="eager", reference_compile=False
  )
  torch.manual_seed(0)
  model = getattr(transformers, name)(config)
  with torch.no_grad():
    for parameter in model.parameters():
      parameter.add_(torch.randn_like(parameter) * 0.2)
  return model.eval()


def inputs(name):
  rng = np.random.default_rng(0)
  ids = rng.integers(3, 40, (3, 2, 9) if "MultipleChoice" in name else (3, 9))
  ids[0, ..., 7:] = 0  # near enough for a window to have a real word
  return {"input_ids": ids, "attention_mask": (ids != 0).astype(int)}


@pytest.mark.parametrize(("name", "fields"), CASES)
def test_every_class_both_ways(tmp_path, name, fields):
  import transformers

  if "rope_parameters" in fields and int(transformers.__version__.split(".")[0]) < 5:
    pytest.skip("transformers 4 has a number for each base")
  theirs, arrays = reference(name, **fields), inputs(name)
  theirs.save_pretrained(tmp_path / "theirs")
  model = luke_jax.load(tmp_path / "theirs")
  assert model.architecture == name and not (model.report.missing or model.report.unexpected)
  expected = expectation(name, theirs, arrays)
  if "last_hidden_state" in expected[0]:  # version 4 has the last state before its norm, too
    expected[0]["hidden_states"][-1] = expected[0]["last_hidden_state"]
  assert_same(name, model, arrays, expected)
  model.save(tmp_path / "ours")
  again, info = getattr(transformers, name).from_pretrained(
    tmp_path / "ours", output_loading_info=True, attn_implementation="eager"
  )
  assert not any(info[x] for x in ("missing_keys", "unexpected_keys", "mismatched_keys"))
  for field in ("layer_types", "rope_parameters", "local_attention", "norm_eps"):
    assert getattr(again.config, field, None) == getattr(theirs.config, field, None)
  for tensor, value in theirs.state_dict().items():
    np.testing.assert_array_equal(again.state_dict()[tensor].numpy(), value.numpy(), err_msg=tensor)


def test_long_texts_are_read_in_windows_and_chunks(tmp_path):
  """The other forms of attention, from 513 words on."""
  fields = {"max_position_embeddings": 800, "local_attention": 16, "num_hidden_layers": 4}
  theirs = reference("ModernBertForMaskedLM", **fields)
  theirs.save_pretrained(tmp_path)
  rng = np.random.default_rng(0)
  ids = rng.integers(3, 40, (2, 700))
  ids[0, 695:] = 0
  arrays = {"input_ids": ids, "attention_mask": (ids != 0).astype(int)}
  labels = np.where(rng.random(ids.shape) < 0.1, ids, -100)
  expected = expectation("ModernBertForMaskedLM", theirs, arrays, {"labels": labels})
  model = luke_jax.load(tmp_path)
  assert_same("ModernBertForMaskedLM", model, arrays, expected, {"labels": labels})


def test_layers_of_no_period_are_refused(tmp_path):
  reference("ModernBertModel").save_pretrained(tmp_path)
  config = json.loads((tmp_path / "config.json").read_text())
  kinds = ["full_attention", "sliding_attention", "full_attention", "full_attention"]
  (tmp_path / "config.json").write_text(json.dumps(config | {"layer_types": kinds}))
  with pytest.raises(InputError, match=r"layer_types: .* expected full_attention every so many"):
    luke_jax.load(tmp_path)
