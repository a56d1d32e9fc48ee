"""BERT, RoBERTa, XLM-R and Baidu's ERNIE against transformers: all classes, real weights."""

import json

import numpy as np
import pytest
from safetensors.numpy import load_file
from tiny import same_params

import luke_jax
from luke_jax.cli import main
from luke_jax.errors import InputError

pytestmark = pytest.mark.parity
SIZES = {
  "vocab_size": 40,
  "hidden_size": 16,
  "num_hidden_layers": 2,
  "num_attention_heads": 2,
  "intermediate_size": 24,
  "max_position_embeddings": 20,
  "type_vocab_size": 2,
}
KINDS = (
  "Model",
  "ForMaskedLM",
  "ForSequenceClassification",
  "ForTokenClassification",
  "ForQuestionAnswering",
  "ForMultipleChoice",
)
STEMS = ("Bert", "Roberta", "XLMRoberta", "Camembert")
CLASSES = [f"{stem}{kind}" for stem in STEMS for kind in KINDS]
CLASSES += [
  "BertForPreTraining",
  "BertForNextSentencePrediction",
  "ErnieModel",
  "ErnieForPreTraining",
  "ErnieForTokenClassification",
]
OF_ERNIE = {"hidden_act": "relu", "layer_norm_eps": 1e-5}
NAMES = {"prediction_logits": "logits", "seq_relationship_logits": "next_sentence_logits"}


def reference(name, **fields):
  """A random model of a class, with no value at a special place."""
  torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
  config = getattr(transformers, name.partition("For")[0].removesuffix("Model") + "Config")
  pad = 0 if name.startswith(("Bert", "Ernie")) else 1
  own = (OF_ERNIE if name.startswith("Ernie") else {}) | fields
  torch.manual_seed(0)
  labels = 2 if name.endswith(("QuestionAnswering", "NextSentencePrediction")) else 3
  made = config(**SIZES, **own, num_labels=labels, pad_token_id=pad, attn_implementation="eager")
  model = getattr(transformers, name)(made)
  with torch.no_grad():
    for parameter in model.parameters():
      parameter.add_(torch.randn_like(parameter) * 0.2)
    tied = model.get_output_embeddings()
    if tied is not None:  # transformers 5 ties by the names that it finds in a file
      tied.weight = model.get_input_embeddings().weight
  return model.eval()


def inputs(name, pad):
  rng = np.random.default_rng(0)
  ids = rng.integers(3, 40, (3, 2, 9) if "MultipleChoice" in name else (3, 9))
  ids[0, ..., 6:] = pad
  types = (np.arange(9) >= 4).astype(int) * np.ones_like(ids)
  return {"input_ids": ids, "attention_mask": (ids != pad).astype(int), "token_type_ids": types}


def outputs_of(model, arrays):
  import torch

  with torch.no_grad():
    found = model(**{name: torch.tensor(x) for name, x in arrays.items()})
  return {NAMES.get(name, name): x.numpy() for name, x in found.items() if torch.is_tensor(x)}


@pytest.mark.parametrize("name", CLASSES)
def test_every_class_both_ways(tmp_path, name):
  import transformers

  theirs = reference(name)
  theirs.save_pretrained(tmp_path / "theirs")
  model = luke_jax.load(tmp_path / "theirs")
  assert (model.architecture, str(model.report)) == (name, "every tensor found its place")
  arrays = inputs(name, model.config.pad_token_id)
  expected, found = outputs_of(theirs, arrays), model(**arrays)
  assert expected.keys() <= found.keys()
  for output, value in expected.items():
    np.testing.assert_allclose(found[output].reshape(value.shape), value, atol=1e-5, err_msg=output)
  model.save(tmp_path / "ours")
  again, info = getattr(transformers, name).from_pretrained(
    tmp_path / "ours", output_loading_info=True, attn_implementation="eager"
  )
  assert not info["missing_keys"] and not info["unexpected_keys"] and not info["mismatched_keys"]
  before, after = theirs.state_dict(), again.state_dict()
  assert before.keys() == after.keys()
  for tensor, value in before.items():
    np.testing.assert_array_equal(after[tensor].numpy(), value.numpy(), err_msg=tensor)
  assert same_params(luke_jax.load(tmp_path / "ours").params, model.params)


@pytest.mark.parametrize("kind", KINDS)
def test_data2vec_is_a_roberta_by_another_name(tmp_path, kind):
  import transformers

  theirs = reference(f"Data2VecText{kind}")
  theirs.save_pretrained(tmp_path / "theirs")
  model = luke_jax.load(tmp_path / "theirs")
  found = (model.architecture, str(model.report))
  assert found == (f"Roberta{kind}", "every tensor found its place")
  model.save(tmp_path / "ours")
  back = getattr(transformers, f"Roberta{kind}").from_pretrained(
    tmp_path / "ours", attn_implementation="eager"
  )
  arrays = inputs(kind, model.config.pad_token_id)
  expected, ours, again = (outputs_of(theirs, arrays), model(**arrays), outputs_of(back, arrays))
  for output, value in expected.items():
    np.testing.assert_allclose(ours[output].reshape(value.shape), value, atol=1e-5)
    np.testing.assert_allclose(again[output], value, atol=1e-5)


@pytest.mark.parametrize("name", ["XLMRobertaXLModel", "RobertaPreLayerNormModel"])
def test_layers_that_normalise_first_are_refused(tmp_path, name):
  theirs = reference(name)
  theirs.save_pretrained(tmp_path)
  with pytest.raises(
    InputError, match=f"model_type: '{theirs.config.model_type}'; expected one of"
  ):
    luke_jax.load(tmp_path)


ACTIVATIONS = [
  ("BertForPreTraining", "gelu_new"),
  ("RobertaForMaskedLM", "relu"),  # its head has gelu all the same
  ("ErnieForPreTraining", "tanh"),
]


@pytest.mark.parametrize(("name", "activation"), ACTIVATIONS)
def test_other_activations(tmp_path, name, activation):
  theirs = reference(name, hidden_act=activation)
  theirs.save_pretrained(tmp_path)
  model = luke_jax.load(tmp_path)
  arrays = inputs(name, model.config.pad_token_id)
  expected, found = outputs_of(theirs, arrays), model(**arrays)
  for output, value in expected.items():
    np.testing.assert_allclose(found[output], value, atol=1e-5, err_msg=output)


@pytest.mark.parametrize("name", ["BertModel", "RobertaForMaskedLM"])
def test_the_command_compares_models_of_words(tmp_path, name, capsys):
  reference(name).save_pretrained(tmp_path)
  assert main(["parity", str(tmp_path), "--output", str(tmp_path / "parity.json")]) == 0
  assert f"equal: {name}" in capsys.readouterr().out


SENTENCES = (
  "Jim Henson was a puppeteer.",
  "When the last ferry left Reykjavík, the harbour fell silent; nobody had brought an umbrella.",
  "don't U.S.A. $5,000.00 naïve café—unaffable 你好",
)


@pytest.mark.slow
def test_real_weights_have_transformers_states(minilm):
  torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
  model = luke_jax.load(minilm)
  theirs = transformers.BertModel.from_pretrained(minilm, attn_implementation="eager").eval()
  ours = model.processor(list(SENTENCES), text_pair=list(reversed(SENTENCES)), padding="longest")
  tokenizer = transformers.AutoTokenizer.from_pretrained(minilm)
  pairs = tokenizer(list(SENTENCES), list(reversed(SENTENCES)), padding=True, return_tensors="np")
  for name, ids in pairs.items():
    np.testing.assert_array_equal(ours[name], ids, err_msg=name)
  with torch.no_grad():
    tensors = {name: torch.tensor(x, dtype=torch.long) for name, x in ours.items()}
    expected = theirs(**tensors, output_hidden_states=True)
  found = model(**ours, output_hidden_states=True)["hidden_states"]
  real = ours["attention_mask"].astype(bool)
  for layer, states in enumerate(expected.hidden_states):
    difference = np.abs(np.asarray(found[layer]) - states.numpy())[real]
    assert difference.max() < 2e-5, (layer, difference.max())


def test_real_weights_come_back_to_the_bit(minilm, tmp_path):
  transformers = pytest.importorskip("transformers")
  luke_jax.load(minilm).save(tmp_path)
  before, after = (load_file(folder / "model.safetensors") for folder in (minilm, tmp_path))
  before.pop("embeddings.position_ids", None)  # a constant
  assert before.keys() == after.keys()
  for name, tensor in before.items():
    np.testing.assert_array_equal(after[name], tensor)
  assert (tmp_path / "vocab.txt").read_bytes() == (minilm / "vocab.txt").read_bytes()
  again = transformers.BertModel.from_pretrained(tmp_path)
  assert json.loads((tmp_path / "config.json").read_text())["num_hidden_layers"] == 6
  assert sum(parameter.numel() for parameter in again.parameters()) == 22_713_216


@pytest.mark.real_data
def test_real_text_has_transformers_ids(minilm, real_data):
  transformers = pytest.importorskip("transformers")
  data = json.loads((real_data / "squad" / "dev-v1.1.json").read_text(encoding="utf-8"))["data"]
  paragraphs = [paragraph for article in data for paragraph in article["paragraphs"]]
  lines = [line for p in paragraphs for line in (p["context"], *(x["question"] for x in p["qas"]))]
  lines = lines[:10_000]
  assert len(lines) == 10_000
  expected = transformers.AutoTokenizer.from_pretrained(minilm)(
    lines, add_special_tokens=False, return_offsets_mapping=True
  )
  ours = luke_jax.load(minilm).tokenizer.encode(lines, offsets=True)
  for number, tokens in enumerate(ours):
    assert tokens.ids == expected["input_ids"][number], lines[number]
    assert tokens.offsets == expected["offset_mapping"][number], lines[number]
