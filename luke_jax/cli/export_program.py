"""`luke-jax export-program`."""

import dataclasses
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Annotated, Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import export
from tyro.conf import OmitArgPrefixes, Positional, arg

from luke_jax.cli.process import stderr_console
from luke_jax.cli.task_inputs import FileOptions
from luke_jax.convert.adapters import is_adapter_directory
from luke_jax.convert.onnx import DATA, INT8
from luke_jax.convert.parts import READER, ModelParts
from luke_jax.convert.programs import DIMENSIONS, Specs, write_program
from luke_jax.convert.reading import read
from luke_jax.convert.saving import full_disk_named, save
from luke_jax.errors import InputError, at, not_installed
from luke_jax.files import Path
from luke_jax.formats.files import Faults
from luke_jax.heads.kinds import without_head
from luke_jax.inference.predicting import asking
from luke_jax.inference.settings import task_of
from luke_jax.runs.models import backbone_of, model_directory
from luke_jax.tasks.contract import TextTask
from luke_jax.tasks.running import checked, read_examples
from luke_jax.text.rows import ENTITY_INPUTS, WORD_INPUTS, Sizes, padded_shapes

ENOUGH_EXAMPLES = 100  # examples, of which one is a point


class Examples(NamedTuple):
  """Examples with answers, and the task that scores them."""

  task: TextTask
  examples: Sequence[Any]


def run(
  source: Annotated[Path, Positional, arg(metavar="MODEL")],
  /,
  *,
  output: Path | None = None,
  onnx: bool = False,
  int8: bool = False,
  check: Path | None = None,
  most_lost: float = 1.0,
  backbone: Path | None = None,
  form: OmitArgPrefixes[FileOptions],
) -> int:
  """Writes a model's program beside its weights, for CPUs, NVIDIA GPUs and TPUs, or as ONNX.

  The file program.zip holds StableHLO for batches and lengths of any size, in some 30 KB; the
  weights stay in model.safetensors. It is checked against the model before it is in its place. JAX
  reads it for half a year after the version that wrote it: then the same command writes it anew.

  With --onnx it is model.onnx, with the weights inside, checked in onnxruntime. With --int8 there
  is model_int8.onnx too, a quarter as large, unless the model's score on your examples gets worse
  by more than a point: then the status is 1.

      luke-jax export-program runs/ner
      luke-jax export-program english/ner --output served --onnx --int8 --check test.conll

  Args:
    source: Directory or name of a model, or the folder of a run.
    output: Directory for a copy of the model, which gets the program; by default the model's own.
    onnx: Writes ONNX, for onnxruntime and whatever else reads it.
    int8: Writes ONNX with weights in 8 bits as well.
    check: File of examples with answers, for the scores in 32 and in 8 bits.
    most_lost: Points of a hundred that the task's score may lose in 8 bits.
    backbone: Directory of the backbone of an adapter, if luke-jax get does not know it.
  """
  directory = model_directory(source)
  if output is None and is_adapter_directory(directory):
    raise InputError(f"{source}: an adapter; expected --output DIRECTORY, for the whole model")
  if int8 != (check is not None) or (int8 and not onnx):
    raise InputError("--int8: belongs with --onnx and --check FILE; expected all three of them")
  for package in ("onnx", "onnxruntime") if onnx else ():
    if not find_spec(package):
      raise not_installed(package, "to write ONNX", "onnx")
  model = read(directory, backbone=backbone or backbone_of(source)).merged
  if model.network.head and not model.network.head.exported:
    expected = "expected luke-jax serve, or another model"
    raise InputError(f"{source}: a {model.architecture} is not exported; {expected}")
  examples = None if check is None else _examples(model, source, form, check)
  specs = symbolic_inputs(model)
  if output is not None:
    save(model, output)
  directory = output or directory
  write = _write_onnx if onnx else _write_program
  with full_disk_named(directory):
    write(model, specs, directory)
    if model.reader is not None:
      write(*_words_alone(read(directory / READER)), directory / READER)
    return 0 if examples is None else _write_int8(model, examples, directory, most_lost)


def _examples(model: ModelParts, source: Path, form: FileOptions, file: Path) -> Examples:
  with at(source):
    task = form.of(task_of(model))
  faults = Faults()
  examples = checked(task, read_examples(task, str(file), faults), faults)
  if not examples:
    raise InputError(f"{file}: no examples with answers; expected one at least")
  return Examples(asking(model, task, examples), examples)


def _write_program(model: ModelParts, specs: Specs, directory: Path) -> None:
  with stderr_console().status("exporting"):
    file = write_program(model, specs, directory)
  print(f"{file}: {file.stat().st_size:,} bytes; it computes what the model does in two shapes")


def _write_onnx(model: ModelParts, specs: Specs, directory: Path) -> None:
  from luke_jax.convert.onnx.files import OPSET, write_onnx

  with stderr_console().status("writing ONNX"):
    file = write_onnx(model, specs, directory)
  size = sum(x.stat().st_size for x in (file, directory / DATA) if x.exists())
  print(f"{file}: {size:,} bytes, opset {OPSET}; it computes what the model does in two shapes")
  for name, spec in specs.items():
    print(f"  {name}: {spec.dtype} ({', '.join(map(str, spec.shape))})")


def _write_int8(model: ModelParts, examples: Examples, directory: Path, most_lost: float) -> int:
  """Writes 8 bits if the score stays; returns the status of the command."""
  from luke_jax.inference.eight_bits import write_int8

  with stderr_console().status("comparing scores"):
    compared = write_int8(model, *examples, directory, most_lost)
  name, before, after, count = compared
  scores = f"{name} {before:.4f} in 32 bits, {after:.4f} in 8 bits, on {count} examples"
  if count < ENOUGH_EXAMPLES:
    few = f"{count} examples do not show a loss of one point; expected {ENOUGH_EXAMPLES} or more"
    print(f"luke-jax: warning: {few}", file=sys.stderr)
  if before <= 0:
    print(f"luke-jax: warning: a {name} of {before:.4f} has no point to lose", file=sys.stderr)
  if not compared.within(most_lost):
    print(f"{INT8}: not written: {scores}; --most-lost {most_lost:g}", file=sys.stderr)
    return 1
  print(f"{directory / INT8}: {(directory / INT8).stat().st_size:,} bytes; {scores}")
  return 0


def _words_alone(model: ModelParts) -> tuple[ModelParts, dict[str, jax.ShapeDtypeStruct]]:
  """Returns a model as it reads labels, without its head, and the shapes of its inputs."""
  network, params = without_head(model.network, model.params)
  specs = symbolic_inputs(model)
  alone = dataclasses.replace(model, network=network, params=params, labels=())
  return alone, {name: specs[name] for name in WORD_INPUTS}


def symbolic_inputs(model: ModelParts) -> dict[str, jax.ShapeDtypeStruct]:
  """Returns the shapes of the inputs that a model reads, whose dimensions are names.

  The number of entities is that of the task where those have candidates.
  """
  network, backbone = model.network, model.backbone
  task = _task(model)
  fixed = task is not None and task.fixed_entities
  # A head may read the entities after the first: it has to be known that those are not < 0.
  some = ["batch*entities >= batch"] if network.places and not fixed else []
  dimensions: Any = export.symbolic_shape(", ".join(DIMENSIONS), constraints=some)
  batch, words, entities, mention, choices, labels, _ = dimensions
  if task and fixed:
    entities = task.sizes.entities
  names = (*WORD_INPUTS, *(ENTITY_INPUTS if backbone.entities else ()))
  if backbone.config.token_types:
    names += ("token_type_ids",)
  if len(network.places) > 1 or not backbone.entities:
    names += network.places
  shapes = padded_shapes(Sizes(words, entities, mention), names=names)
  rows = {name: jax.ShapeDtypeStruct(x, jnp.int32) for name, x in shapes.items()}
  rows |= {name: jax.ShapeDtypeStruct(x, jnp.int32) for name, x in network.own_inputs.items()}
  for name, room in backbone.config.beside(words).items():
    rows[name] = jax.ShapeDtypeStruct(room.shape, room.dtype)
  for inputs in task.extra_inputs if task else ():
    rows |= inputs.shapes(backbone, words)
  before = (batch, choices) if network.choices else (batch,)
  specs = {name: jax.ShapeDtypeStruct((*before, *x.shape), x.dtype) for name, x in rows.items()}
  for name in network.head.once if network.head else ():
    _, *width = network.own_inputs[name]
    specs[name] = jax.ShapeDtypeStruct((1, labels, *width), jnp.float32)
  return specs


def _task(model: ModelParts) -> TextTask | None:
  """Returns the task of a model, None if it is pretrained, or without a head."""
  try:
    return task_of(model)
  except InputError:
    return None
