"""Networks as ONNX files beside their weights, checked in onnxruntime before they are there."""

import contextlib
import importlib.metadata
import json
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from typing import Any

import jax
import numpy as np
import onnx
import onnxruntime
from onnx import helper

from luke_jax.convert.onnx import CARD, DATA, FILE
from luke_jax.convert.onnx.graph import KnownArray, OnnxGraph, Operand, Size, tensor_info
from luke_jax.convert.onnx.primitives import tensor
from luke_jax.convert.onnx.translation import translate
from luke_jax.convert.parts import ModelParts
from luke_jax.convert.programs import Specs, check_program, config_hash, program_card
from luke_jax.files import Path, in_bucket, whole, write_json
from luke_jax.files.locks import new_folder
from luke_jax.models.network import apply, in_order

OPSET, IR = 20, 9  # of 2023, which onnxruntime reads from 1.17 on
LARGEST = 2**31 - 2**24  # bytes of weights in the one file: those of protobuf end at 2 GB


class OnnxProgram:
  """A file of ONNX in onnxruntime, on CPUs."""

  def __init__(self, file: Path) -> None:
    """Reads a file, and the weights beside it."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # errors
    providers = ["CPUExecutionProvider"]
    self.session = onnxruntime.InferenceSession(str(file), options, providers=providers)
    self.outputs = [x.name for x in self.session.get_outputs()]
    self.inputs = [x.name for x in self.session.get_inputs()]

  def __call__(self, **inputs: Any) -> dict[str, np.ndarray]:
    """Runs it on inputs named as in Hugging Face."""
    arrays = {name: np.asarray(inputs[name]) for name in self.inputs}
    return dict(zip(self.outputs, self.session.run(None, arrays), strict=True))


def write_onnx(model: ModelParts, specs: Specs, directory: Path) -> Path:
  """Writes a model as an ONNX file into the directory of its weights, with the weights inside.

  Those of more than 2 GB lie in a second file. `specs` are the shapes of the inputs, with symbolic
  dimensions. Before the file is in its place, onnxruntime must compute what the model computes in
  two shapes.
  """
  made, outputs = _model(model, specs, config_hash(directory))
  with moved_into(directory) as folder:
    save(made, folder / FILE)
    check_program(model, specs, OnnxProgram(folder / FILE))
    write_json(folder / CARD, program_card(model, specs, outputs))
  return directory / FILE


def save(made: Any, file: Path) -> None:
  """Writes an ONNX model, whose weights are beside it if they are many."""
  if sum(len(x.raw_data) for x in made.graph.initializer) < LARGEST:
    onnx.save_model(made, str(file))
  else:
    beside = {"all_tensors_to_one_file": True, "location": DATA}
    onnx.save_model(made, str(file), save_as_external_data=True, **beside)


@contextlib.contextmanager
def moved_into(directory: Path) -> Iterator[Path]:
  """Yields a folder on this machine, whose files are moved into a directory on success."""
  parent = Path(tempfile.gettempdir()) if in_bucket(directory) else directory
  with new_folder(parent, ".onnx-") as folder:
    yield folder
    # What names another file comes last.
    for file in sorted(folder.iterdir(), reverse=True):
      with whole(directory / file.name) as part:
        shutil.move(file, part)


def _model(model: ModelParts, specs: Specs, config: str) -> tuple[Any, Specs]:
  """Returns a network as an ONNX model, and the shapes of its outputs in their order."""
  graph, (network, params) = OnnxGraph(), model.predicting
  inputs: dict[str, Any] = dict(specs)

  def run(params: dict, inputs: dict) -> dict[str, jax.Array]:
    return in_order(apply(network, params, inputs))

  traced = jax.jit(run).trace(params, inputs)
  read = {name: graph.add_input(name, x.shape, x.dtype) for name, x in specs.items()}
  arrays = [
    KnownArray(np.asarray(x), "/".join(key.key for key in path))
    for path, x in jax.tree_util.tree_leaves_with_path(params)
  ]
  outputs = translate(
    graph, traced.jaxpr, [*arrays, *jax.tree.leaves(read, is_leaf=lambda x: isinstance(x, Operand))]
  )
  shapes: dict[str, Any] = traced.out_info
  infos = [
    _output(graph, name, x, shapes[name].shape, shapes[name].dtype)
    for name, x in zip(shapes, outputs, strict=True)
  ]
  nodes, weights = graph.needed(list(shapes))
  body = helper.make_graph(nodes, model.architecture, graph.inputs, infos, weights)
  version = importlib.metadata.version("luke_jax")
  made = helper.make_model(
    body,
    opset_imports=[helper.make_opsetid("", OPSET)],
    ir_version=IR,
    producer_name="luke_jax",
    producer_version=version,
  )
  about = {"config": config, "labels": json.dumps(model.labels, ensure_ascii=False)}
  helper.set_model_props(made, about)
  return made, shapes


def _output(graph: OnnxGraph, name: str, x: Operand, shape: Sequence[Size], dtype: Any) -> Any:
  graph.add_output(tensor(graph, x, shape), name)
  return tensor_info(name, shape, dtype)
