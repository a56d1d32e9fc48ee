"""Fresh random models of the installed transformers, on both sides of files and numbers."""

import json
import shutil
from pathlib import Path

import jax
import numpy as np
import pytest
import torch
import transformers
from networks import network
from parity_models import CLASSES, Shape, make_inputs, make_model, run, tiny_config

import luke_jax
from luke_jax.cli import main
from luke_jax.model import Model
from luke_jax.models import keys
from luke_jax.models.network import abstract_params
from luke_jax.systems.luke.config import LukeConfig
from luke_jax.systems.luke.keys import KEYS

pytestmark = [
  pytest.mark.parity,
  # transformers' own, on import and on saving
  pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning"),
]
SAMPLE_MODEL = Path(__file__).parents[2] / "data" / "sample_model"
LABELS = ("labels", "entity_labels", "start_positions", "end_positions")


def config_of(name, **fields):
  return tiny_config(**({"num_labels": 2} if name == "LukeForQuestionAnswering" else {}), **fields)


# Original attention is below the heads, which do not see it.
@pytest.mark.parametrize(
  ("name", "aware"),
  [*((name, True) for name in CLASSES), ("LukeModel", False), ("LukeForMaskedLM", False)],
)
def test_what_transformers_wrote(tmp_path, name, aware):
  """Outputs, and the loss with its gradients, of a directory that transformers made."""
  config = config_of(name, use_entity_aware_attention=aware)
  theirs = make_model(name, config, seed=7)
  theirs.save_pretrained(tmp_path)
  model = luke_jax.load(tmp_path)
  inputs = make_inputs(name, config, Shape(4, 14, 6, 4), seed=8)
  expected = run(name, theirs, inputs)
  arrays = {key: x.numpy() for key, x in inputs.items()}
  labels = {key: arrays.pop(key) for key in LABELS if key in arrays}
  found = model(**arrays, output_hidden_states=True, output_attentions=True) | model(**arrays)
  for key, value in expected.items():
    if key.startswith("output:"):
      ours = np.asarray(found[key.removeprefix("output:")])
      np.testing.assert_allclose(ours, value.reshape(ours.shape), atol=2e-5, err_msg=key)
  if labels:
    assert_same_gradients(model, arrays, labels, expected)


def test_another_activation_beside_both_forms_of_attention(tmp_path):
  """The layers' and the entities' head have it; the words' head is RoBERTa's."""
  config = config_of("LukeForMaskedLM", hidden_act="silu")
  theirs = make_model("LukeForMaskedLM", config)
  theirs.save_pretrained(tmp_path)
  inputs = make_inputs("LukeForMaskedLM", config, Shape())
  expected = run("LukeForMaskedLM", theirs, inputs)
  arrays = {key: x.numpy() for key, x in inputs.items() if key not in LABELS}
  for form in ("einsum", "blocks"):
    found = luke_jax.load(tmp_path, attention=form)(**arrays)
    for name in ("logits", "entity_logits"):
      np.testing.assert_allclose(found[name], expected[f"output:{name}"], atol=2e-5, err_msg=form)


def assert_same_gradients(model: Model, arrays, labels, expected):
  made = model.network

  def loss(params):
    return made.loss(made.apply({"params": params}, **arrays), **labels)

  value, gradient = jax.jit(jax.value_and_grad(loss))(model.params)
  np.testing.assert_allclose(value, expected["loss"], rtol=1e-4)
  tensors = dict(keys.to_torch(jax.device_get(gradient), KEYS))
  largest = max(np.abs(x).max() for x in tensors.values())
  for key, x in expected.items():
    if key.startswith("grad:"):
      scale = max(np.abs(x).max(), 1e-2 * largest)
      name = key.removeprefix("grad:")
      np.testing.assert_allclose(tensors[name] / scale, x / scale, atol=1e-4, err_msg=name)


@pytest.mark.parametrize("name", CLASSES)
def test_what_we_wrote(tmp_path, name):
  """transformers finds every key, and the same bits, in a directory that was saved here."""
  theirs = make_model(name, config_of(name), seed=9)
  theirs.save_pretrained(tmp_path / "theirs")
  luke_jax.load(tmp_path / "theirs").save(tmp_path / "ours")
  back, info = type(theirs).from_pretrained(tmp_path / "ours", output_loading_info=True)
  assert not any(info.values()), info
  state = back.state_dict()
  for key, tensor in theirs.state_dict().items():
    assert torch.equal(tensor, state[key]), key


def test_what_we_wrote_of_a_decoder_trained_apart(tmp_path):
  """As transformers 5 makes one: the words' decoder differs, the entities' is still tied."""
  config = config_of("LukeForMaskedLM")
  theirs = make_model("LukeForMaskedLM", config)
  if theirs.lm_head.decoder.weight is theirs.luke.embeddings.word_embeddings.weight:
    pytest.skip("this transformers ties the words' decoder")
  with torch.no_grad():
    theirs.lm_head.decoder.weight.add_(0.1)
  theirs.save_pretrained(tmp_path / "theirs")
  luke_jax.load(tmp_path / "theirs").save(tmp_path / "ours")
  back, info = type(theirs).from_pretrained(tmp_path / "ours", output_loading_info=True)
  assert not any(info.values()), info
  inputs = make_inputs("LukeForMaskedLM", config, Shape())
  for name in ("logits", "entity_logits"):
    assert torch.equal(back(**inputs)[name], theirs(**inputs)[name])


def test_pytorch_archives(tmp_path):
  theirs = make_model("LukeForMaskedLM", config_of("LukeForMaskedLM"))
  theirs.save_pretrained(tmp_path)
  expected = luke_jax.load(tmp_path)
  (tmp_path / "model.safetensors").unlink()
  torch.save(theirs.state_dict(), tmp_path / "pytorch_model.bin")
  found = luke_jax.load(tmp_path)
  equal = jax.tree.map(np.array_equal, found.params, expected.params)
  assert jax.tree.all(equal)


def test_a_pickle_that_runs_code_is_refused(tmp_path, capsys):
  theirs = make_model("LukeModel", config_of("LukeModel"))
  theirs.save_pretrained(tmp_path)
  (tmp_path / "model.safetensors").unlink()
  torch.save({"x": Evil()}, tmp_path / "pytorch_model.bin")
  assert main(["convert", str(tmp_path), str(tmp_path / "target")]) == 2
  assert "not a PyTorch state dict" in capsys.readouterr().err


class Evil:
  def __reduce__(self):
    return exec, ("raise SystemExit('ran code from a file')",)


# Classes whose inputs or outputs are unlike those of others.
@pytest.mark.parametrize(
  "name",
  [
    "LukeForMaskedLM",
    "LukeForEntityPairClassification",
    "LukeForEntitySpanClassification",
    "LukeForQuestionAnswering",
    "LukeForMultipleChoice",
  ],
)
def test_parity_command(tmp_path, name, capsys):
  getattr(transformers, name)(config_of(name)).save_pretrained(tmp_path)
  output = tmp_path / "parity.json"
  assert main(["parity", str(tmp_path), "--output", str(output)]) == 0, capsys.readouterr().out
  figures = json.loads(output.read_text())
  assert figures["passed"]
  assert not any(figures["keys"].values())
  assert len(figures["batches"]) >= 1
  assert capsys.readouterr().out.splitlines()[-1].startswith("equal: ")


def test_parity_of_entities_without_a_second_mask_says_what_to_do(tmp_path, capsys):
  shutil.copytree(SAMPLE_MODEL, tmp_path / "old")
  vocabulary = tmp_path / "old" / "entity_vocab.json"
  titles = json.loads(vocabulary.read_text())
  titles["Somebody else"] = titles.pop("[MASK2]")
  vocabulary.write_text(json.dumps(titles))
  assert main(["parity", str(tmp_path / "old")]) == 2
  assert "what luke-jax convert makes of it" in capsys.readouterr().err
  assert main(["convert", str(tmp_path / "old"), str(tmp_path / "new")]) == 0
  assert main(["parity", str(tmp_path / "new"), "--output", str(tmp_path / "out.json")]) == 0


def test_parity_writes_what_it_found_in_the_card(tmp_path, capsys):
  transformers.LukeModel(config_of("LukeModel")).save_pretrained(tmp_path / "theirs")
  model = tmp_path / "ours"
  assert main(["convert", str(tmp_path / "theirs"), str(model)]) == 0
  before = (model / "README.md").read_text()
  for _ in range(2):  # the second time in the place of the first
    assert main(["parity", str(model), "--card"]) == 0, capsys.readouterr().out
  after = (model / "README.md").read_text()
  title = "## Parity with PyTorch\n"
  assert before.count(title) == after.count(title) == 1
  assert before.partition(title)[0] == after.partition(title)[0]
  assert before.partition("## Limits")[2] == after.partition("## Limits")[2]
  told = after.partition(title)[2].partition("## Limits")[0]
  assert "equal" in told and "Not measured" not in told


def test_parity_command_notices(tmp_path, capsys, monkeypatch):
  """A tolerance that nothing meets, and a key that is astray."""
  model = transformers.LukeModel(config_of("LukeModel"))
  model.save_pretrained(tmp_path)
  precisions, call = set(), Model.__call__

  def recording(*arguments, **inputs):
    precisions.add(jax.config.jax_default_matmul_precision)
    return call(*arguments, **inputs)

  monkeypatch.setattr(Model, "__call__", recording)
  output = ["--output", str(tmp_path / "parity.json")]
  assert main(["parity", str(tmp_path), "--tolerance", "1e-12", *output]) == 1
  assert "DIFFERENT" in capsys.readouterr().out
  assert precisions == {"highest"}  # else a GPU multiplies float32 in TF32


@pytest.mark.slow
@pytest.mark.parametrize("aware", [True, False])
def test_base_size(aware):
  """The whole depth and width of luke-base, with fewer words and entities in the tables."""
  config = transformers.LukeConfig(
    vocab_size=1000,
    entity_vocab_size=500,
    max_position_embeddings=514,
    type_vocab_size=1,
    layer_norm_eps=1e-5,
    use_entity_aware_attention=aware,
    attn_implementation="eager",
  )
  torch.manual_seed(0)
  theirs = transformers.LukeForMaskedLM(config).eval()
  theirs.lm_head.decoder.weight.data.copy_(theirs.luke.embeddings.word_embeddings.weight.data)
  inputs = make_inputs("LukeForMaskedLM", config, Shape(2, 96, 12, 6))
  expected = run("LukeForMaskedLM", theirs, inputs)
  raw = config.to_dict() | {"architectures": ["LukeForMaskedLM"], "model_type": "luke"}
  made = network("LukeForMaskedLM", LukeConfig.read_config(raw, Path("base")).config)
  state = {name: x.detach().numpy() for name, x in theirs.named_parameters()}
  params, _ = keys.from_torch(state.__getitem__, state, abstract_params(made), KEYS)
  arrays = {key: x.numpy() for key, x in inputs.items()}
  labels = {key: arrays.pop(key) for key in LABELS if key in arrays}
  model = Model(made, params)
  found = model(**arrays, output_hidden_states=True, output_attentions=True) | model(**arrays)
  for key in ("hidden_states", "entity_hidden_states", "logits", "entity_logits", "attentions"):
    np.testing.assert_allclose(found[key], expected[f"output:{key}"], atol=1e-4, err_msg=key)
  assert_same_gradients(model, arrays, labels, expected)
