"""DeBERTa v2 and v3 against transformers: states, losses, gradients and files."""

import json
import warnings

import numpy as np
import pytest
from parity.test_bert import KINDS, SIZES, outputs_of
from parity.test_other_berts import assert_same, expectation

import luke_jax

# transformers 4 compiles parts of it by what PyTorch is giving up.
script = "ignore:`torch.jit.script` is deprecated:DeprecationWarning"
pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings(script)]
V3 = {  # as of v3, with buckets of which the longest rows have more distances
  **{"relative_attention": True, "position_buckets": 4, "max_relative_positions": 7},
  **{"norm_rel_ebd": "layer_norm", "share_att_key": True, "pos_att_type": "p2c|c2p"},
  **{"position_biased_input": False, "type_vocab_size": 0},
}
OWN = V3 | {"share_att_key": False}
FORMS = {
  "one distance, one row": {"position_buckets": -1, "max_relative_positions": 3},
  "as far as there are places": {"max_relative_positions": -1, "position_buckets": 8},
  "two buckets": {"position_buckets": 2},
  "no norm of distances": {"norm_rel_ebd": "none"},
  "projections of their own": OWN,
  "c2p alone": OWN | {"pos_att_type": ["c2p"]},
  "p2c alone": V3 | {"pos_att_type": "P2C"},
  "no terms": V3 | {"pos_att_type": None, "norm_rel_ebd": "none"},
  "no distances": {"relative_attention": False, "norm_rel_ebd": "none"},
  "narrow tables, types, places": {
    **{"embedding_size": 12, "type_vocab_size": 3, "position_biased_input": True}
  },
  "convolution": {"conv_kernel_size": 3, "conv_act": "gelu"},
  "wide convolution": {"conv_kernel_size": 5, "num_hidden_layers": 1, "hidden_act": "relu"},
}
CASES = [(f"DebertaV2{kind}", {}) for kind in KINDS]
CASES += [("DebertaV2Model", fields) for fields in FORMS.values()]
HEADS = {
  "ForMaskedLM": ({"embedding_size": 12}, {"legacy": False}),
  "ForSequenceClassification": ({"pooler_hidden_act": "tanh"}, {"cls_dropout": 0.3}),
  "ForMultipleChoice": ({"conv_kernel_size": 3, "type_vocab_size": 2},),
}
CASES += [(f"DebertaV2{kind}", fields) for kind, forms in HEADS.items() for fields in forms]


def reference(name, fields):
  """A random model of a class, with no value at a special place."""
  torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
  labels = 2 if name.endswith("QuestionAnswering") else 3
  torch.manual_seed(0)
  config = transformers.DebertaV2Config(**SIZES | V3 | fields, num_labels=labels)
  model = getattr(transformers, name)(config)
  with torch.no_grad():
    for parameter in model.parameters():
      parameter.add_(torch.randn_like(parameter) * 0.2)
  return model.eval()


def inputs(name, types):
  """Rows with padding, of a single word, and full, which is longer than the buckets reach."""
  rng = np.random.default_rng(0)
  ids = rng.integers(3, 40, (3, 2, 9) if "MultipleChoice" in name else (3, 9))
  ids[0, ..., 6:] = ids[1, ..., 1:] = 0
  arrays = {"input_ids": ids, "attention_mask": (ids != 0).astype(int)}
  return arrays | ({"token_type_ids": rng.integers(0, types, ids.shape)} if types else {})


@pytest.mark.parametrize(("name", "fields"), CASES)
def test_every_class_both_ways(tmp_path, name, fields):
  import transformers

  if "legacy" in fields and int(transformers.__version__.split(".")[0]) < 5:
    pytest.skip("transformers 4 ties its first layer, not its last one, to the table of words")
  theirs, arrays = reference(name, fields), inputs(name, fields.get("type_vocab_size", 0))
  theirs.save_pretrained(tmp_path / "theirs")
  model = luke_jax.load(tmp_path / "theirs")
  assert model.architecture == name and not (model.report.missing or model.report.unexpected)
  assert_same(name, model, arrays, expectation(name, theirs, arrays))
  model.save(tmp_path / "ours")
  again, info = getattr(transformers, name).from_pretrained(
    tmp_path / "ours", output_loading_info=True
  )
  assert not info["missing_keys"] and not info["unexpected_keys"] and not info["mismatched_keys"]
  before, after = theirs.state_dict(), again.state_dict()
  assert before.keys() == after.keys()
  for tensor, value in before.items():
    np.testing.assert_array_equal(after[tensor].numpy(), value.numpy(), err_msg=tensor)
  configs = [tmp_path / folder / "config.json" for folder in ("theirs", "ours")]
  wrote, written = (json.loads(path.read_text()) for path in configs)
  for field, none in (
    ("position_buckets", -1),
    ("max_relative_positions", -1),
    ("pos_att_type", None),
  ):
    wrote[field] = written[field] if wrote[field] == none and not written[field] else wrote[field]
  assert {x: written.get(x) for x in wrote} == wrote


def test_a_decoder_of_its_own(tmp_path):
  """Then the bias that counts is the decoder's too: transformers 5 has another, which does not."""
  import transformers

  name = "DebertaV2ForMaskedLM"
  theirs, arrays = reference(name, {"tie_word_embeddings": False}), inputs(name, 0)
  theirs.save_pretrained(tmp_path / "theirs")
  expected = outputs_of(theirs, arrays)["logits"]
  model = luke_jax.load(tmp_path / "theirs")
  np.testing.assert_allclose(model(**arrays)["logits"], expected, atol=1e-5)
  model.save(tmp_path / "ours")
  again = transformers.DebertaV2ForMaskedLM.from_pretrained(tmp_path / "ours")
  np.testing.assert_allclose(outputs_of(again, arrays)["logits"], expected, atol=1e-5)


def test_what_files_of_the_hub_have_beside_the_encoder_is_passed_over(tmp_path):
  """Of v3's: a discriminator's head, a generator's, and places that are not read."""
  from safetensors.numpy import load_file, save_file

  theirs = reference("DebertaV2Model", {})
  theirs.save_pretrained(tmp_path)
  config = json.loads((tmp_path / "config.json").read_text())
  del config["architectures"], config["legacy"]
  (tmp_path / "config.json").write_text(json.dumps(config))
  encoder = load_file(tmp_path / "model.safetensors")
  more = ("lm_predictions.lm_head.bias", "mask_predictions.dense.bias")
  more += ("deberta.embeddings.position_embeddings.weight",)
  tensors = {f"deberta.{x}": value for x, value in encoder.items()}
  tensors |= {x: np.ones((20, 16) if "position" in x else 16, np.float32) for x in more}
  save_file(tensors, tmp_path / "model.safetensors")
  arrays = inputs("Model", 0)
  with warnings.catch_warnings():
    warnings.simplefilter("error")
    model = luke_jax.load(tmp_path)
  expected = outputs_of(theirs, arrays)["last_hidden_state"]
  np.testing.assert_allclose(model(**arrays)["last_hidden_state"], expected, atol=1e-5)
