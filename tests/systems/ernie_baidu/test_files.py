"""ERNIE of Baidu under four schemes of names: the numbers of a forward pass, from files and back.

Kernels are square in part, so shapes alone would not show one that is turned.
"""

import json
import pickle
from pathlib import Path

import jax
import numpy as np
import pytest
from networks import network
from safetensors.numpy import load_file, save_file

import luke_jax
from luke_jax.cli import main
from luke_jax.convert.paddle import open_paddle, write_paddle
from luke_jax.errors import InputError
from luke_jax.files import Path as LukePath
from luke_jax.heads.kinds import class_names
from luke_jax.models.network import abstract_params
from luke_jax.systems.ernie_baidu import ErnieBaiduConfig

GOLDENS = Path(__file__).parents[2] / "goldens" / "paddle"
SIZES = {
  "vocab_size": 40,
  "hidden_size": 8,
  "num_hidden_layers": 2,
  "num_attention_heads": 2,
  "intermediate_size": 16,
  "max_position_embeddings": 16,
  "type_vocab_size": 2,
  "hidden_act": "relu",
}
# Stems of the tables, of a layer's linear parts and norms, and of the heads, in four schemes; then
# what a weight, a bias, a norm's scale and its bias end with.
TRANSFORMERS = {
  "tables": [f"ernie.embeddings.{x}_embeddings.weight" for x in ("word", "position", "token_type")],
  "norm": "ernie.embeddings.LayerNorm",
  "layer": "ernie.encoder.layer.%d.",
  "parts": [f"attention.self.{x}" for x in ("query", "key", "value")]
  + [f"{x}.dense" for x in ("attention.output", "intermediate", "output")]
  + [f"{x}.LayerNorm" for x in ("attention.output", "output")],
  "heads": ["ernie.pooler.dense", "cls.predictions.transform.dense", "cls.seq_relationship"],
  "last": ("cls.predictions.transform.LayerNorm", "cls.predictions.bias"),
  "ends": (".weight", ".bias", ".weight", ".bias"),
}
STATIC = {
  "tables": ["word_embedding", "pos_embedding", "sent_embedding"],
  "norm": "pre_encoder_layer_norm",
  "layer": "encoder_layer_%d_",
  "parts": [f"multi_head_att_{x}_fc" for x in ("query", "key", "value", "output")]
  + ["ffn_fc_0", "ffn_fc_1", "post_att_layer_norm", "post_ffn_layer_norm"],
  "heads": ["pooled_fc", "mask_lm_trans_fc", "next_sent_fc"],
  "last": ("mask_lm_trans_layer_norm", "mask_lm_out_fc.b_0"),
  "ends": (".w_0", ".b_0", "_scale", "_bias"),
}
DYGRAPH = {
  "tables": ["word_emb.weight", "pos_emb.weight", "sent_emb.weight"],
  "norm": "ln",
  "layer": "encoder_stack.block.%d.",
  "parts": ["attn.q", "attn.k", "attn.v", "attn.o", "ffn.i", "ffn.o", "ln1", "ln2"],
  "heads": ["pooler", "mlm", "nsp"],
  "last": ("mlm_ln", "mlm_bias"),
  "ends": TRANSFORMERS["ends"],
}
PADDLENLP = TRANSFORMERS | {
  "norm": "ernie.embeddings.layer_norm",
  "layer": "ernie.encoder.layers.%d.",
  "parts": [f"self_attn.{x}_proj" for x in ("q", "k", "v", "out")]
  + ["linear1", "linear2", "norm1", "norm2"],
  "heads": ["ernie.pooler.dense", "cls.predictions.transform", "cls.seq_relationship"],
  "last": ("cls.predictions.layer_norm", "cls.predictions.decoder_bias"),
}
SCHEMES = {
  "transformers": TRANSFORMERS,
  "paddle-static": STATIC,
  "paddle-dygraph": DYGRAPH,
  "paddlenlp": PADDLENLP,
}


def g(shape, c):
  """The numbers that the goldens were computed from."""
  return (0.5 * np.sin(0.37 * np.arange(np.prod(shape)) + c)).reshape(shape).astype(np.float32)


def tensors(scheme):
  """The model of the goldens, whose kernels are (in, out), as a scheme names it."""
  weight, bias, scale, shift = scheme["ends"]
  made = {
    name: g((n, 8), c) for name, n, c in zip(scheme["tables"], (40, 16, 2), (1, 2, 3), strict=True)
  }

  def linear(stem, shape, c):
    made[stem + weight], made[stem + bias] = g(shape, c), g(shape[1:], c + 1)

  def norm(stem):
    made[stem + scale], made[stem + shift] = np.ones(8, np.float32), np.zeros(8, np.float32)

  norm(scheme["norm"])
  for layer in range(2):
    stems = [scheme["layer"] % layer + part for part in scheme["parts"]]
    for n, shape in enumerate([(8, 8)] * 4 + [(8, 16), (16, 8)]):
      linear(stems[n], shape, 10 + 20 * layer + 2 * n)
    norm(stems[6])
    norm(stems[7])
  for stem, shape, c in zip(scheme["heads"], ((8, 8), (8, 8), (8, 2)), (60, 62, 65), strict=True):
    linear(stem, shape, c)
  last, decoder_bias = scheme["last"]
  norm(last)
  made[decoder_bias] = g((40,), 64)
  if scheme is TRANSFORMERS:  # its kernels are (out, in)
    kernel = [name for name in made if made[name].ndim == 2 and "embeddings" not in name]
    made |= {name: np.ascontiguousarray(made[name].T) for name in kernel}
  return made


def write(folder, form):
  folder.mkdir()
  made = tensors(SCHEMES[form])
  if form == "transformers":
    save_file(made, folder / "model.safetensors")
  else:
    write_paddle(LukePath(folder), form, made.items())
  if form in ("paddle-static", "paddle-dygraph"):
    (folder / "ernie_config.json").write_text(json.dumps(SIZES | {"intermediate_size": 16}))
  else:
    config = SIZES | {"model_type": "ernie", "layer_norm_eps": 1e-5}
    (folder / "config.json").write_text(json.dumps(config))
  return folder


def near(found, expected, what):
  np.testing.assert_allclose(found, expected, atol=1e-5, rtol=0, err_msg=what)


def check_numbers(model):
  ids, types = [[1, 7, 12, 3, 2, 9, 2, 0, 0]], [[0, 0, 0, 0, 0, 1, 1, 0, 0]]
  mask = [[1] * 7 + [0, 0]]
  inputs = {"input_ids": ids, "token_type_ids": types, "attention_mask": mask}
  outputs = model(**{name: np.array(x) for name, x in inputs.items()}, output_hidden_states=True)
  embedded, last = outputs["hidden_states"][0][0, 0], outputs["last_hidden_state"][0]
  near(
    embedded,
    [2.040738, 1.062764, 0.162601, -0.537919, -0.943985, -1.000636, -0.700206, -0.083356],
    "embeddings",
  )
  near(
    last[0],
    [2.051358, 0.993119, 0.049677, -0.651280, -1.014880, -0.991911, -0.585482, 0.149399],
    "[CLS]",
  )
  near(
    last[3],
    [1.893409, 0.669492, -0.328201, -0.964635, -1.153673, -0.869728, -0.151233, 0.904569],
    "position 3",
  )
  pooled = [-0.690134, -0.772215, -0.787394, -0.743920, -0.619407, -0.372125, -0.004828, 0.364344]
  near(outputs["pooler_output"][0], pooled, "pooled")
  logits = outputs["logits"][0, 3]
  first = [-0.059688, 0.676340, 0.644112, -0.135488, 1.078645, -1.078846]
  near(logits[:6], first, "masked words")
  normaliser = jax.nn.logsumexp(logits)
  near([normaliser, normaliser - logits[21]], [4.345194, 3.365078], "loss of a masked word")
  following = outputs["next_sentence_logits"][0]
  near(following, [0.672614, 0.744002], "next sentence")
  near(jax.nn.logsumexp(following) - following[1], 0.658090, "loss of the next sentence")


def test_parameter_counts():
  def size(kind):
    params = abstract_params(network(class_names(ErnieBaiduConfig)[kind], ErnieBaiduConfig()))
    return sum(x.size for x in jax.tree.leaves(params))

  assert size("none") == 99_866_112
  assert size("pretraining") == 99_866_112 + 610_128 + 1_538


@pytest.mark.parametrize("form", SCHEMES)
def test_each_scheme_is_read_and_written(form, tmp_path):
  model = luke_jax.load(write(tmp_path / "theirs", form))
  assert (model.architecture, str(model.report)) == (
    "ErnieForPreTraining",
    "every tensor found its place",
  )
  check_numbers(model)
  command = ["convert", str(tmp_path / "theirs"), str(tmp_path / "ours"), "--form", form]
  assert main(command) == 0
  if form == "transformers":
    written = load_file(tmp_path / "ours" / "model.safetensors")
    tied = {"cls.predictions.decoder.weight", "cls.predictions.decoder.bias"}
    assert written.keys() - tensors(TRANSFORMERS).keys() == tied
  else:
    name = {"paddle-static": "params", "paddle-dygraph": "saved_weights.pdparams"}
    place = LukePath(tmp_path / "ours" / name.get(form, "model_state.pdparams"))
    written = {name: read() for name, read in open_paddle(place).items()}
    assert written.keys() == tensors(SCHEMES[form]).keys()
  for name, tensor in tensors(SCHEMES[form]).items():
    np.testing.assert_array_equal(written[name], tensor, err_msg=name)
  check_numbers(luke_jax.load(tmp_path / "ours"))


def test_older_names_are_those_of_a_bert(tmp_path):
  folder = write(tmp_path / "older", "transformers")
  older = {
    name.replace("ernie.", "bert.").replace("LayerNorm.weight", "LayerNorm.gamma"): tensor
    for name, tensor in tensors(TRANSFORMERS).items()
  }
  save_file(older, folder / "model.safetensors")
  check_numbers(luke_jax.load(folder))


def test_files_of_paddle_itself_are_read(tmp_path):
  kernel = np.arange(12, dtype=np.float32).reshape(3, 4)
  for protocol in (2, 4):
    arrays = open_paddle(LukePath(GOLDENS / f"protocol{protocol}.pdparams"))
    assert arrays.keys() == {"weight", "bias"}
    np.testing.assert_array_equal(arrays["weight"](), kernel)
  np.testing.assert_array_equal(
    open_paddle(LukePath(GOLDENS / "params"))["pooled_fc.w_0"](), kernel
  )
  write_paddle(LukePath(tmp_path), "paddle-static", [("pooled_fc.w_0", kernel)])
  theirs = (GOLDENS / "params" / "pooled_fc.w_0").read_bytes()
  assert (tmp_path / "params" / "pooled_fc.w_0").read_bytes() == theirs


class Harmful:
  """A pickle of it calls a function when it is read."""

  def __reduce__(self):
    return print, ("called",)


@pytest.mark.parametrize("content", [{"x": Harmful()}, {"x": [1]}, {"x": object}, [1], "text"])
def test_an_archive_of_anything_else_is_refused(content, tmp_path, capsys):
  folder = write(tmp_path / "odd", "paddle-dygraph")
  path = folder / "saved_weights.pdparams"
  for protocol in (0, 2, 4):
    path.write_bytes(pickle.dumps(content, protocol))
    with pytest.raises(InputError, match=r"saved_weights\.pdparams: not arrays by name alone"):
      luke_jax.load(folder)
  path.write_bytes(pickle.dumps({"x": np.zeros(3)}, 4)[:-20])
  with pytest.raises(InputError, match="not arrays by name alone"):
    luke_jax.load(folder)
  assert not capsys.readouterr().out


def test_damaged_arrays_and_wrong_forms_are_one_line(tmp_path):
  folder = write(tmp_path / "static", "paddle-static")
  path = folder / "params" / "pooled_fc.w_0"
  path.write_bytes(path.read_bytes()[:-4])
  with pytest.raises(InputError, match=r"pooled_fc\.w_0: 252 bytes; expected the numbers of shape"):
    luke_jax.load(folder)
  path.write_bytes(b"short")
  with pytest.raises(InputError, match=r"pooled_fc\.w_0: not an array of Paddle's"):
    luke_jax.load(folder)
  config = json.loads((folder / "ernie_config.json").read_text()) | {"use_task_id": True}
  (folder / "ernie_config.json").write_text(json.dumps(config))
  with pytest.raises(InputError, match=r"use_task_id: true; expected false, .*an ERNIE 2 or 3"):
    luke_jax.load(folder)
  bert = Path(__file__).parents[2] / "goldens" / "bert" / "BertForPreTraining"
  with pytest.raises(InputError, match=r"form: 'paddlenlp': a BERT; expected one of transformers"):
    luke_jax.load(bert).save(tmp_path / "paddle", form="paddlenlp")
  assert not (tmp_path / "paddle").exists()
