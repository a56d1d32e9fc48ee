"""ONNX files: equal to the model in onnxruntime, and readable by the text side alone."""

import dataclasses
import errno
import json
import os
import re
import subprocess
import sys
import typing

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export
from small_systems import WITH_PROGRAM, drawn, small
from tiny import tiny_model

from luke_jax.cli import main
from luke_jax.cli.export_program import symbolic_inputs
from luke_jax.convert.onnx import CARD, DATA, FILE, INT8
from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.heads.linking import LinkingHead
from luke_jax.inference.settings import settings_of
from luke_jax.model import Model, load
from luke_jax.models.network import Network, abstract_params
from luke_jax.models.system import Backbone
from luke_jax.nn.activations import Activation, activate
from luke_jax.systems.luke import LukeConfig
from luke_jax.tasks.tagging.task import Tagging

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
from onnx import helper  # noqa: E402

from luke_jax.convert.onnx import files, translation  # noqa: E402
from luke_jax.convert.onnx.graph import OnnxGraph, tensor_info  # noqa: E402
from luke_jax.convert.onnx.primitives import tensor  # noqa: E402

ROOT = Path(__file__).parents[2]
TEXT = "Beyoncé lives in Los Angeles."
SPANS = [(0, 7), (17, 28)]


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
  """A model of types, and its ONNX file."""
  folder = Path(tmp_path_factory.mktemp("onnx")) / "types"
  tiny_model("LukeForEntityClassification").save(folder)
  files.write_onnx(load(folder), symbolic_inputs(load(folder)), folder)
  return folder


def inputs_of(model):
  return model.processor(TEXT, entity_spans=SPANS, word_lengths=24, entity_lengths=3)


def test_it_computes_what_the_model_does_in_another_shape(directory):
  model = load(directory)
  inputs = inputs_of(model)
  found, expected = files.OnnxProgram(directory / FILE)(**inputs), model(**inputs)
  assert found.keys() == expected.keys()
  for name, value in found.items():
    np.testing.assert_allclose(value, expected[name], atol=1e-5)


def test_one_file_says_what_it_is(directory):
  read = onnx.load(str(directory / FILE))
  onnx.checker.check_model(read, full_check=True)
  assert [x.version for x in read.opset_import] == [files.OPSET]
  about = {entry.key: entry.value for entry in read.metadata_props}
  assert json.loads(about["labels"]) == ["person", "place", "work"] and len(about["config"]) == 64
  axes = {x.name: [d.dim_param for d in x.type.tensor_type.shape.dim] for x in read.graph.input}
  assert axes["entity_position_ids"] == ["batch", "entities", "mention"]
  assert not (directory / DATA).exists()
  # Each weight once, and nothing that only a backward pass would read.
  weights = sum(x.size for x in jax.tree.leaves(load(directory).params))
  assert sum(np.prod(x.dims) for x in read.graph.initializer if x.data_type == 1) < weights + 100
  assert not [node for node in read.graph.node if node.op_type == "Log"]


def test_outputs_are_in_the_order_of_use_with_a_card_beside(tmp_path):
  model = tiny_model("LukeForTokenClassificationWithCrf")
  model.save(tmp_path)
  files.write_onnx(model, specs := symbolic_inputs(model), Path(tmp_path))
  program = files.OnnxProgram(tmp_path / FILE)
  inputs = model.processor(TEXT, entity_spans=[])
  expected = ["logits", "chain", "last_hidden_state", "entity_last_hidden_state"]
  assert program.outputs == list(model(**inputs)) == expected
  card = json.loads((tmp_path / CARD).read_text())
  assert list(card["outputs"]) == expected and card["labels"] == list(model.labels)
  assert card["outputs"]["logits"] == {"type": "float32", "shape": ["batch", "words", 3]}
  assert list(card["inputs"]) == list(specs)
  assert card["inputs"]["entity_position_ids"]["shape"] == ["batch", "entities", "mention"]
  model.save(tmp_path)
  assert not (tmp_path / CARD).exists()


def test_a_tied_table_is_written_once(tmp_path):
  model = tiny_model("LukeForMaskedLM")
  model.save(tmp_path)
  files.write_onnx(model, symbolic_inputs(model), Path(tmp_path))
  read = onnx.load(str(tmp_path / FILE))
  table = model.config.vocab_size * model.config.hidden_size
  assert [np.prod(x.dims) for x in read.graph.initializer].count(table) == 1


def test_many_weights_lie_in_a_second_file(tmp_path, monkeypatch):
  monkeypatch.setattr(files, "LARGEST", 1000)
  model = tiny_model("LukeForEntityClassification")
  model.save(tmp_path)
  files.write_onnx(model, symbolic_inputs(model), Path(tmp_path))
  assert (tmp_path / DATA).stat().st_size > (tmp_path / FILE).stat().st_size
  assert {x.name for x in tmp_path.iterdir() if x.name.startswith(".")} == set()
  files.OnnxProgram(tmp_path / FILE)(**inputs_of(model))
  model.save(tmp_path)  # what the weights were written from is no more
  assert not (tmp_path / DATA).exists() and not (tmp_path / FILE).exists()


def test_a_file_that_differs_is_not_kept(tmp_path, monkeypatch):
  monkeypatch.setitem(translation.RULES, "mul", translation.RULES["add"])
  model = tiny_model("LukeForEntityClassification")
  model.save(tmp_path)
  before = sorted(tmp_path.iterdir())
  with pytest.raises(InputError, match="the program differs from the model"):
    files.write_onnx(model, symbolic_inputs(model), Path(tmp_path))
  assert sorted(tmp_path.iterdir()) == before


def computed(tmp_path, function, *arrays):
  """The output of a function of any number of rows, in onnxruntime."""
  graph, (n,) = OnnxGraph(), export.symbolic_shape("n")
  shapes = [jax.ShapeDtypeStruct((n, *x.shape[1:]), x.dtype) for x in arrays]
  inputs = [graph.add_input(f"x{i}", x.shape, x.dtype) for i, x in enumerate(shapes)]
  traced = jax.jit(function).trace(*shapes)
  (output,) = translation.translate(graph, traced.jaxpr, inputs)
  out = traced.out_info
  graph.add_output(tensor(graph, output, out.shape), "y")
  info = tensor_info("y", out.shape, out.dtype)
  nodes, weights = graph.needed(["y"])
  made = helper.make_model(
    helper.make_graph(nodes, "test", graph.inputs, [info], weights),
    opset_imports=[helper.make_opsetid("", files.OPSET)],
    ir_version=files.IR,
  )
  onnx.save_model(made, str(tmp_path / FILE))
  read = {f"x{i}": x for i, x in enumerate(arrays)}
  return files.OnnxProgram(tmp_path / FILE)(**read)["y"]


FLOATS = np.linspace(-4, 4, 15, dtype=np.float32).reshape(5, 3)
WHOLE = np.arange(15, dtype=np.int32).reshape(5, 3) - 7
CUBE = np.arange(18, dtype=np.int32).reshape(3, 2, 3)
FUNCTIONS = {
  "any and all": lambda x: (x > 0).any(-1) & (x > -3).all(-1),
  "batched product": lambda x: jnp.einsum("ab,ac->abc", x, x),
  "clip": lambda x: jnp.clip(x, -1, 2),
  "cumulative sum": lambda x: jnp.cumsum(x, axis=0),
  "every second": lambda x: x[:, ::2],
  "iota": lambda x: x + jax.lax.broadcasted_iota(x.dtype, x.shape, 0),
  "last rows": lambda x: x[1:],
  "least and most": lambda x: x.min(0) + jnp.minimum(x, 1) + x.max(1, keepdims=True),
  "number of rows": lambda x: x * x.shape[0],
  "powers": lambda x: x**3 + abs(x) + jnp.sign(x),
  "product of many axes": lambda x: jnp.einsum("ab,bcd->acd", x, CUBE.astype(x.dtype)),
  "product of two axes": lambda x: jnp.einsum(
    "nab,ab->n", x[..., None] * x[:, None], CUBE[:, 0, :].astype(x.dtype)
  ),
  "split": lambda x: sum(jnp.split(x, 3, axis=1)),
  "stack": lambda x: jnp.stack([x, -x], axis=1).reshape(x.shape[0] * 2, -1),
  "where": lambda x: jnp.where(x != 1, x, jnp.arange(3, dtype=x.dtype)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("x", [FLOATS, WHOLE], ids=["floats", "whole"])
def test_a_function(name, x, tmp_path):
  function = FUNCTIONS[name]
  found, expected = computed(tmp_path, function, x), function(x)
  assert found.dtype == expected.dtype
  np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", typing.get_args(Activation))
def test_every_activation(name, tmp_path):
  def function(x):
    return activate(x, name)

  np.testing.assert_allclose(computed(tmp_path, function, FLOATS), function(FLOATS), atol=1e-5)


def test_an_unknown_primitive_is_refused_by_its_name(tmp_path):
  with pytest.raises(InputError, match=r"^sort: no rule for this primitive of JAX in ONNX"):
    computed(tmp_path, lambda x: jnp.sort(x, axis=1), FLOATS)
  with pytest.raises(InputError, match=r"^scan: over values of the inputs"):
    computed(
      tmp_path, lambda x: jax.lax.scan(lambda c, y: (c + y, None), jnp.zeros(3), x)[0], FLOATS
    )


def written(folder, model):
  """The model, in a folder with its file of ONNX."""
  model.save(folder)
  files.write_onnx(model, symbolic_inputs(model), Path(folder))
  return model


def found_without_jax(folder, program, *names):
  """Arrays that a program of the page has by these names when it is done."""
  page = (ROOT / "docs/howto/onnx.md").read_text(encoding="utf-8")
  (code,) = re.findall(rf"```python {program}\n(.*?)```", page, re.DOTALL)
  code += "import sys\nassert not {'jax', 'flax'} & sys.modules.keys()\n"
  code += f"np.savez('found', {', '.join(f'{x}={x}' for x in names)})\n"
  code = "import numpy as np\n" + code
  environment = os.environ | {"PYTHONPATH": str(ROOT)}
  subprocess.run([sys.executable, "-c", code], cwd=folder, env=environment, check=True)
  with np.load(folder / "found.npz") as file:
    return dict(file)


def test_the_page_finds_names_without_jax(tmp_path):
  model = written(tmp_path / "served", tiny_model("LukeForEntitySpanClassification"))
  found = found_without_jax(tmp_path, "find_names.py", "spans", "logits")
  processor = dataclasses.replace(model.processor, task="entity_span_classification")
  spans = [tuple(span) for span in found["spans"].tolist()]
  expected = model(**processor(TEXT, entity_spans=spans))["logits"]
  np.testing.assert_allclose(found["logits"], expected, atol=1e-5)


def test_the_page_finds_names_by_tags_without_jax(tmp_path):
  labels = ("O", "B-LOC", "I-LOC", "B-PER", "I-PER")
  task = Tagging(labels=labels, crf=True)
  words = tiny_model()
  network = task.network(words.network.backbone)
  rng = np.random.default_rng(3)
  params = jax.tree.map(
    lambda x: rng.normal(size=x.shape).astype(np.float32), abstract_params(network)
  )
  text = words.tokenizer, words.processor
  written(tmp_path / "served", Model(network, params, labels, *text, rest=settings_of(task)))
  found = found_without_jax(tmp_path, "find_tags.py", "names")["names"].tolist()
  expected = load(tmp_path / "served").predict(TEXT)
  assert found == [[str(x.start), str(x.end), x.label] for x in expected] and len(found) > 1


@pytest.mark.parametrize("rounds", [pytest.param(0, marks=pytest.mark.slow), 2])
def test_a_linker_has_a_file_of_a_fixed_number_of_names(rounds, tmp_path):
  backbone = Backbone(small(LukeConfig))
  head = LinkingHead(backbone.numerics_of("linking"), vectors=12, rounds=rounds)
  made = Network(backbone, head)
  rng = np.random.default_rng(0)
  params = jax.tree.map(
    lambda x: 0.1 * rng.normal(size=x.shape).astype(np.float32), abstract_params(made)
  )
  model = Model(made, params)
  model.save(tmp_path)
  b, w = export.symbolic_shape("batch, words")
  whole = dict.fromkeys(("input_ids", "attention_mask"), (b, w))
  whole |= dict.fromkeys(("entity_ids", "entity_attention_mask", *made.places), (b, 3))
  whole |= {"entity_position_ids": (b, 3, 4)}
  specs = {name: jax.ShapeDtypeStruct(shape, jnp.int32) for name, shape in whole.items()}
  for name, shape in (("candidate_vectors", (b, 3, 5, 12)), ("candidate_priors", (b, 3, 5))):
    specs[name] = jax.ShapeDtypeStruct(shape, jnp.float32)
  files.write_onnx(model, specs, Path(tmp_path))


@pytest.mark.slow
@pytest.mark.parametrize(("system", "kind"), WITH_PROGRAM)
def test_every_head_of_every_system_has_a_file(system, kind, tmp_path):
  model = drawn(system, kind)
  model.save(tmp_path)
  files.write_onnx(model, symbolic_inputs(model), Path(tmp_path))


EXAMPLES = [
  {"text": TEXT, "span": [0, 7], "labels": ["person"]},
  {"text": TEXT, "span": [17, 28], "labels": ["place"]},
]


@pytest.fixture
def labelled(tmp_path):
  file = tmp_path / "dev.jsonl"
  file.write_text("".join(json.dumps(x) + "\n" for x in EXAMPLES), encoding="utf-8")
  return str(file)


def test_the_command_writes_8_bits_beside_and_their_scores(directory, tmp_path, labelled, capsys):
  folder = str(tmp_path / "copy")
  command = ["export-program", str(directory), "--output", folder, "--onnx", "--int8"]
  assert main([*command, "--check", labelled, "--most-lost", "100"]) == 0
  printed, warned = capsys.readouterr()
  assert "2 examples do not show a loss of one point; expected 100 or more" in warned
  assert ("has no point to lose" in warned) == ("f1 0.0000 in 32 bits" in printed)
  assert "opset 20; it computes what the model does" in printed
  assert "entity_position_ids: int32 (batch, entities, mention)" in printed
  assert "in 32 bits" in printed and "on 2 examples" in printed
  small_file, large_file = Path(folder) / INT8, Path(folder) / FILE
  assert small_file.stat().st_size < large_file.stat().st_size
  about = {x.key: x.value for x in onnx.load(str(small_file)).metadata_props}
  assert json.loads(about["scores"]).keys() == {"score", "float32", "int8", "examples"}
  assert "labels" in about
  found = files.OnnxProgram(small_file)(**inputs_of(load(directory)))["logits"]
  exact = files.OnnxProgram(large_file)(**inputs_of(load(directory)))["logits"]
  assert 0 < np.abs(found - exact).max() < 0.1


def test_8_bits_that_lose_too_much_are_not_written(directory, tmp_path, labelled, capsys):
  folder = str(tmp_path / "copy")
  command = ["export-program", str(directory), "--output", folder, "--onnx", "--int8"]
  assert main([*command, "--check", labelled, "--most-lost", "-1"]) == 1
  assert "not written: " in capsys.readouterr().err
  assert (Path(folder) / FILE).exists() and not (Path(folder) / INT8).exists()
  (Path(folder) / INT8).touch()  # of an earlier time
  assert main([*command[:1], folder, *command[4:], "--check", labelled, "--most-lost", "nan"]) == 1
  assert not (Path(folder) / INT8).exists()
  assert main(command) == 2
  assert "--int8: belongs with --onnx and --check FILE" in capsys.readouterr().err


def test_a_full_disk_is_named(directory, monkeypatch, capsys):
  def full(*_):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

  monkeypatch.setattr("luke_jax.convert.onnx.files.save", full)
  assert main(["export-program", str(directory), "--onnx"]) == 2
  assert f"{directory}: No space left on device; expected a disk" in capsys.readouterr().err
