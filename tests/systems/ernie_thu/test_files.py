"""Weights under the authors' names, both ways, and starts from a plain BERT."""

import dataclasses
import json

import jax
import numpy as np
import pytest
from networks import backbone
from safetensors.numpy import load_file, save_file
from small_systems import small
from tiny import same_params

import luke_jax
from luke_jax.cli import main
from luke_jax.convert.loading import read_model
from luke_jax.convert.parts import ModelParts
from luke_jax.convert.saving import save
from luke_jax.errors import InputError
from luke_jax.heads.kinds import make_head
from luke_jax.model import Model
from luke_jax.models.keys import flatten
from luke_jax.models.network import Network, abstract_params
from luke_jax.systems.bert import BertConfig
from luke_jax.systems.ernie_thu import ErnieThuConfig
from luke_jax.training.optimizer import layer_masks

# Layers sim, mix, norm, norm: two layers are the last run.
CONFIG = small(ErnieThuConfig, num_hidden_layers=4)
# Parts of names that a BERT does not have.
ENTITY_PARTS = ("self_ent", "output_ent", "dense_ent", "LayerNorm_ent", "predictions_ent")


def random_params(made):
  rng = np.random.default_rng(0)
  return jax.tree.map(
    lambda x: 0.5 * rng.normal(size=x.shape).astype(np.float32), abstract_params(made)
  )


@pytest.fixture(scope="module")
def model():
  chosen = backbone(CONFIG)
  made = Network(chosen, make_head("pretraining", chosen))
  return Model(made, random_params(made))


def size(tree):
  return sum(x.size for x in jax.tree.leaves(tree))


def test_parameter_counts():
  chosen = backbone(ErnieThuConfig())
  params = abstract_params(Network(chosen, make_head("pretraining", chosen)))
  assert size(params["ernie_thu"]) == 114_050_244
  assert size(params["aligned_entities"]) == 77_100
  stacks = {run: size(part) for run, part in params["ernie_thu"]["encoder"].items()}
  layer = stacks["from_0"] // 5  # of a BERT
  assert stacks == {"from_0": 5 * layer, "from_5": layer + 617_772, "from_6": 6 * (layer + 658_372)}


def test_names_are_those_of_the_authors(model, tmp_path):
  model.save(tmp_path)
  names = load_file(tmp_path / "model.safetensors").keys()
  of_layers = {name.split(".layer.")[1] for name in names if "encoder.layer." in name}
  fused = ("intermediate.dense_ent.weight", "output.dense_ent.bias", "output.LayerNorm_ent.weight")
  attending = ("attention.self_ent.query.weight", "attention.output_ent.LayerNorm.bias")
  for number in range(4):
    assert {f"{number}.{name}" in of_layers for name in fused} == {number >= 1}
    assert {f"{number}.{name}" in of_layers for name in attending} == {number >= 2}
    assert f"{number}.output.dense.weight" in of_layers
  assert {
    "bert.embeddings.word_embeddings.weight",
    "bert.pooler.dense.bias",
    "cls.predictions.transform.LayerNorm.weight",
    "cls.predictions_ent.transform.dense.weight",
    "cls.predictions_ent.transform.LayerNorm.bias",
    "cls.seq_relationship.weight",
  } <= names
  config = json.loads((tmp_path / "config.json").read_text())
  assert config["layer_types"] == ["sim", "mix", "norm", "norm"]


def test_a_saved_model_reads_back(model, tmp_path):
  model.save(tmp_path)
  again = luke_jax.load(tmp_path)
  assert str(again.report) == "every tensor found its place"
  assert again.architecture == "ErnieThuForPreTraining"
  assert same_params(again.params, model.params)
  inputs = {"input_ids": np.arange(1, 9).reshape(2, 4)}
  inputs["entity_vectors"] = np.random.default_rng(0).normal(size=(2, 4, 12)).astype(np.float32)
  outputs, states = model(**inputs), again(**inputs, output_hidden_states=True)
  for name, x in outputs.items():
    np.testing.assert_allclose(states[name], x, atol=1e-5, err_msg=name)
  assert states["hidden_states"].shape == (5, 2, 4, 32)
  last = states["last_hidden_state"]
  np.testing.assert_allclose(states["hidden_states"][-1], last, atol=1e-5)


@pytest.mark.filterwarnings("ignore:.*were left over")
def test_a_run_reads_a_model_as_layers_of_its_own_kinds(model, tmp_path):
  model.save(tmp_path)
  trained = dataclasses.replace(CONFIG, layer_types=("sim", "sim", "mix", "sim"))
  params = read_model(tmp_path, trained=trained).params["ernie_thu"]["encoder"]
  counts = {name: run["layers"]["mlp"]["up"]["bias"].shape[0] for name, run in params.items()}
  assert counts == {"from_0": 2, "from_2": 1, "from_3": 1}


def test_a_released_directory_reads_as_it_is(model, tmp_path):
  """The authors' files: no class in ernie_config.json, gamma and beta in the norms."""
  model.save(tmp_path / "saved")
  released = tmp_path / "ernie_base"
  released.mkdir()
  tensors = load_file(tmp_path / "saved" / "model.safetensors")
  renamed = {_older(name): tensor for name, tensor in tensors.items()}
  save_file(renamed, released / "model.safetensors")
  names = ("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads")
  names += ("intermediate_size", "max_position_embeddings", "type_vocab_size")
  config = {name: getattr(CONFIG, name) for name in names}
  config |= {"layer_types": ["sim", "mix", "norm", "norm"]}
  (released / "ernie_config.json").write_text(json.dumps(config | {"entity_size": 12}))
  # The width of entities is not among the authors' sizes; here it is not theirs.
  again = luke_jax.load(released, num_entity_heads=2)
  assert same_params(again.params, model.params)
  assert str(again.report) == "every tensor found its place"


def test_one_command_converts_from_and_to_the_authors_files(model, tmp_path, capsys):
  torch = pytest.importorskip("torch")
  ours, theirs, back = (str(tmp_path / name) for name in ("ours", "theirs", "back"))
  model.save(ours)
  assert main(["convert", ours, theirs, "--form", "pytorch"]) == 0
  (tmp_path / "theirs" / "config.json").unlink()  # which the authors have not
  (tmp_path / "ours" / "model.safetensors").unlink()
  state = torch.load(tmp_path / "theirs" / "pytorch_model.bin", weights_only=True)
  assert all(type(x) is torch.Tensor and x.dtype == torch.float32 for x in state.values())
  assert main(["convert", theirs, back]) == 0
  assert "every tensor found its place" in capsys.readouterr().out
  again = luke_jax.load(back)
  assert again.config.kinds == model.config.kinds
  assert same_params(again.params, model.params)
  assert main(["convert", back, theirs, "--form", "pytorch", "--dtype", "bfloat16"]) == 0
  half = torch.load(tmp_path / "theirs" / "pytorch_model.bin", weights_only=True)
  for name, x in state.items():
    assert torch.equal(half[name], x.to(torch.bfloat16)), name


def _older(name):
  for new, old in ((".weight", ".gamma"), (".bias", ".beta")):
    if "LayerNorm" in name and name.endswith(new):
      return name.removesuffix(new) + old
  return name


def test_a_square_matrix_of_the_other_orientation_gives_other_states(model, tmp_path):
  model.save(tmp_path)
  tensors = load_file(tmp_path / "model.safetensors")
  name = "bert.encoder.layer.2.attention.self_ent.query.weight"
  tensors[name] = np.ascontiguousarray(tensors[name].T)
  save_file(tensors, tmp_path / "model.safetensors")
  inputs = {"input_ids": np.arange(1, 5)[None]}
  inputs["entity_vectors"] = np.random.default_rng(0).normal(size=(1, 4, 12)).astype(np.float32)
  one, other = (x(**inputs)["last_hidden_state"] for x in (model, luke_jax.load(tmp_path)))
  assert np.abs(one - other).max() > 1e-4


def test_a_plain_bert_starts_one_and_the_new_parts_are_named(tmp_path):
  config = small(BertConfig)
  made = Network(backbone(config), make_head("masked", backbone(config)))
  params = random_params(made)
  save(ModelParts(made, params), tmp_path)
  with pytest.warns(UserWarning, match="initialised, for the files lack them"):
    started = luke_jax.load(tmp_path, system="ernie_thu", num_entity_heads=2)
  fresh = [name for name in started.report.missing if any(x in name for x in ENTITY_PARTS)]
  others = {name for name in started.report.missing if name not in fresh}
  assert {name.rpartition(".")[0] for name in others} == {
    "bert.pooler.dense",
    "cls.seq_relationship",
  }
  # Six of every layer that fuses, ten of the one that attends, and four that predict entities.
  assert len(fresh) == 2 * 6 + 10 + 4
  old, new = (flatten(x) for x in (params, started.params))
  shared = new["ernie_thu/encoder/from_1/layers/attention/key/kernel"]
  np.testing.assert_array_equal(shared[0], old["bert/encoder/layers/attention/key/kernel"][1])
  assert started.config.kinds == ("mix", "norm")


@pytest.mark.parametrize(
  ("fields", "message"),
  [
    ({"layer_types": ("sim", "mox")}, "layer_types: 'mox'; expected each to be one of sim, mix"),
    ({"layer_types": ("sim",) * 13}, "layer_types: 13 of them; expected at most 12"),
    ({"entity_size": 10}, "entity_size: 10; expected a multiple of num_entity_heads, 4"),
  ],
)
def test_sizes_that_do_not_go_together(fields, message):
  with pytest.raises(InputError, match=message):
    ErnieThuConfig(**fields)


def test_kinds_of_layers():
  paper = ("sim",) * 5 + ("mix",) + ("norm",) * 6
  assert ErnieThuConfig().kinds == paper
  assert ErnieThuConfig(num_hidden_layers=3, layer_types=("mix",)).kinds == ("mix", "sim", "sim")
  assert ErnieThuConfig(num_hidden_layers=1).kinds == ("mix",)


def test_vectors_of_another_shape_are_refused(model):
  ids = np.arange(1, 5)[None]
  with pytest.raises(InputError, match=r"entity_vectors: shape \(1, 4, 5\); expected \(1, 4, 12\)"):
    model(input_ids=ids, entity_vectors=np.zeros((1, 4, 5), np.float32))
  with pytest.raises(InputError, match=r"entity_mask: shape \(1, 3\); expected \(1, 4\)"):
    model(input_ids=ids, entity_mask=np.zeros((1, 3)))


@pytest.mark.slow
def test_what_no_head_reads_learns_nothing(model):
  """The entities' last states: frozen, so that weight decay does not shrink what makes them."""
  patterns = CONFIG.unread
  assert patterns == (
    "ernie_thu/encoder/from_2/layers[1:2]/mlp/entity_down",
    "ernie_thu/encoder/from_2/layers[1:2]/entity_mlp_norm",
  )

  vectors = np.random.default_rng(0).normal(size=(1, 4, 12)).astype(np.float32)
  inputs = {"input_ids": np.arange(1, 5)[None], "entity_vectors": vectors}

  def loss(params):
    outputs = model.network.apply({"params": params}, **inputs)
    return sum((outputs[name] ** 2).sum() for name in ("logits", "aligned_entities"))

  gradients = flatten(jax.jit(jax.grad(loss))(model.params))
  masks = flatten(layer_masks(model.params, patterns))
  for path, x in gradients.items():
    if "/from_2/" in path and not path.endswith("/key/bias"):  # which no softmax notices
      learns = np.array([np.abs(layer).max() > 1e-6 for layer in x])
      np.testing.assert_array_equal(masks[path].ravel() > 0, learns, err_msg=path)


@pytest.mark.slow
def test_a_real_bert_of_six_layers_is_a_start(minilm):
  bert = luke_jax.load(minilm, head="none")
  inputs = bert.processor("Jim Henson was a puppeteer.")
  same = luke_jax.load(minilm, system="ernie_thu", head="none", layer_types=("sim",) * 6)
  one, other = (model(**inputs)["last_hidden_state"] for model in (same, bert))
  np.testing.assert_allclose(one, other, atol=1e-5)
  with pytest.warns(UserWarning, match="initialised"):
    whole = luke_jax.load(minilm, system="ernie_thu", head="none")
  assert whole.config.kinds == ("sim", "sim", "mix", "norm", "norm", "norm")
  assert all(any(part in name for part in ENTITY_PARTS) for name in whole.report.missing)
  states = whole(**inputs, output_hidden_states=True)["hidden_states"]
  before = bert(**inputs, output_hidden_states=True)["hidden_states"]
  np.testing.assert_allclose(states[:3], before[:3], atol=1e-5)
  assert np.isfinite(states).all()
