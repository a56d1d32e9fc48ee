"""Networks as exported programs beside their weights: StableHLO, of any batch and length.

The file is an archive: about.json; prepare.jaxexport, which makes parameters of the tensors of
model.safetensors; and run.jaxexport, which runs them on inputs. JAX reads an exported program for
half a year after the version that wrote it, so the file is a cache: the weights last.
"""

import dataclasses
import datetime
import functools
import hashlib
import itertools
import json
import math
import zipfile
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import export

from luke_jax.convert.parts import ModelParts
from luke_jax.convert.sources import CONFIG
from luke_jax.convert.tensors import open_tensors
from luke_jax.errors import InputError, not_installed
from luke_jax.files import Path, read_json_object, whole, write_json
from luke_jax.models.keys import Key, Keys, flatten, places, unflatten
from luke_jax.models.network import Network, apply, in_order
from luke_jax.models.system import NONE

PROGRAM, CARD = "program.zip", "program.json"
ABOUT, PREPARE, RUN = "about.json", "prepare.jaxexport", "run.jaxexport"
PLATFORMS = ("cpu", "cuda", "tpu")
DIMENSIONS = ("batch", "words", "entities", "mention", "choices", "labels", "names")
SHAPES = (
  dict.fromkeys(DIMENSIONS, 2),
  {"batch": 3, "words": 7, "entities": 5, "mention": 3, "labels": 4, "names": 3},
)
CLOSE_OUTPUTS = 1e-5  # of outputs, by the largest one
FIRST = (1980, 1, 1, 0, 0, 0)  # the date of an archive's files, so that equal ones have equal bytes

Specs = Mapping[str, jax.ShapeDtypeStruct]


@dataclasses.dataclass(frozen=True)
class ExportedProgram:
  """An exported program with the parameters of its model's weights."""

  run: export.Exported
  params: dict

  def __call__(self, **inputs: Any) -> dict[str, jax.Array]:
    """Runs the model without dropout on inputs named as in Hugging Face."""
    outputs: Any = self.run.call(self.params, inputs)
    return dict(outputs)


def write_program(model: ModelParts, specs: Specs, directory: Path) -> Path:
  """Writes the program of a model into the directory that holds its weights.

  `specs` are the shapes of the inputs, with symbolic dimensions. Before the file is in its place it
  is read again, and must compute what the model computes in two shapes.
  """
  prepare, run = _prepare(model, directory), _run(model.network, specs, model.params)
  about = {
    "jax": jax.__version__,
    "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
    "config": config_hash(directory),
    "platforms": list(PLATFORMS),
    "tensors": list(prepare.in_tree.unflatten(prepare.in_avals)[0][0]),
    "inputs": {name: [str(x) for x in spec.shape] for name, spec in specs.items()},
  }
  outputs: Any = run.out_tree.unflatten(run.out_avals)
  target = directory / PROGRAM
  with whole(target) as part:
    with zipfile.ZipFile(part, "w") as archive:
      for name, data in (
        (ABOUT, json.dumps(about, indent=2).encode()),
        (PREPARE, _serialized(prepare)),
        (RUN, _serialized(run)),
      ):
        info = zipfile.ZipInfo(name, FIRST)
        info.compress_type = zipfile.ZIP_DEFLATED
        archive.writestr(info, data)
    check_program(model, specs, _read(part, directory, target))
  write_json(directory / CARD, program_card(model, specs, outputs))
  return target


def program_card(model: ModelParts, specs: Specs, outputs: Specs) -> dict[str, Any]:
  """Returns what a program reads and returns, both in order, and the labels of its logits."""

  def listed(arrays: Specs) -> dict[str, Any]:
    return {
      name: {"type": str(x.dtype), "shape": [x if isinstance(x, int) else str(x) for x in x.shape]}
      for name, x in arrays.items()
    }

  return {"inputs": listed(specs), "outputs": listed(outputs), "labels": list(model.labels)}


def read_program(directory: str | Path) -> ExportedProgram:
  """Reads the program and the weights of a directory.

  Raises InputError for a program of another config, and for one that this JAX no longer reads.
  """
  directory = Path(directory)
  return _read(directory / PROGRAM, directory, directory / PROGRAM)


def _read(file: Path, directory: Path, named: Path) -> ExportedProgram:
  again = f"expected what luke-jax export-program {directory} writes anew"
  try:
    with zipfile.ZipFile(file) as archive:
      about, *programs = (archive.read(name) for name in (ABOUT, PREPARE, RUN))
    told = json.loads(about)
    origin = f"written by JAX {told['jax']} on {told['date']}"
    config, names = told["config"], [str(name) for name in told["tensors"]]
  except (OSError, zipfile.BadZipFile, KeyError, TypeError, ValueError) as fault:
    raise InputError(f"{named}: no program ({fault}); {again}") from None
  if config != config_hash(directory):
    raise InputError(f"{named}: of another config than {directory / CONFIG}; {again}")
  try:
    prepare, run = (_deserialized(data) for data in programs)
  except Exception as fault:  # whatever a later JAX raises for what it no longer reads
    reason = (str(fault).splitlines() or [repr(fault)])[0]
    raise InputError(
      f"{named}: {origin}, which JAX {jax.__version__} does not read ({reason}); {again}"
    ) from None
  tensors = open_tensors(directory, Keys({}))
  params: Any = prepare.call({name: tensors.read(name) for name in names})
  return ExportedProgram(run, params)


def config_hash(directory: Path) -> str:
  """Returns the SHA-256 of a directory's config, however it is laid out."""
  config = read_json_object(directory / CONFIG, "the config of a model")
  return hashlib.sha256(json.dumps(config, sort_keys=True).encode()).hexdigest()


def check_program(
  model: ModelParts, specs: Specs, program: Callable[..., Mapping[str, Any]]
) -> None:
  """Raises InputError unless a program computes what its model computes, in two shapes."""
  for sizes in SHAPES:
    inputs = _example(model, specs, sizes)
    expected = _outputs(*model.predicting, inputs)
    for name, value in program(**inputs).items():
      one, other = (np.asarray(x, np.float32) for x in (value, expected[name]))
      most = np.abs(other[np.isfinite(other)]).max(initial=1)
      if not np.allclose(one, other, rtol=0, atol=CLOSE_OUTPUTS * most):
        raise InputError(f"{name}: the program differs from the model; expected equal outputs")


@functools.partial(jax.jit, static_argnames="network")
def _outputs(network: Network, params: dict, inputs: dict) -> dict[str, jax.Array]:
  return apply(network, params, inputs)


def _run(network: Network, specs: Specs, params: dict) -> export.Exported:
  """Exports the network, a function of parameters and inputs."""
  shapes = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), params)

  def run(params: dict, inputs: dict) -> dict[str, jax.Array]:
    return in_order(apply(network, params, inputs))

  return export.export(jax.jit(run), platforms=PLATFORMS)(shapes, dict(specs))


def _prepare(model: ModelParts, directory: Path) -> export.Exported:
  """Exports the function of a directory's tensors that returns the network's parameters."""
  table, tensors = model.config.keys(model.kind), open_tensors(directory, Keys({}))
  # The reference's encoder alone has no name of its own before those of its parts.
  start = f"{table.encoder}." if model.kind == NONE else ""
  arrays = flatten(model.params)
  names = {
    path: [name.removeprefix(start) for name, _ in places(table.key(path), x.shape)]
    for path, x in arrays.items()
  }
  needed = sorted(itertools.chain.from_iterable(names.values()))
  if lacking := [name for name in needed if name not in tensors.names]:
    raise InputError(
      f"{directory}: no tensor {lacking[0]}; expected the weights as luke_jax writes them, with"
      " --output DIRECTORY"
    )

  def prepare(tensors: dict[str, jax.Array]) -> dict:
    leaves: dict[str, Any] = {
      path: _array(table.key(path), x.shape, [tensors[name] for name in names[path]])
      for path, x in arrays.items()
    }
    return unflatten(leaves)

  read = {name: tensors.read(name) for name in needed}
  shapes = {name: jax.ShapeDtypeStruct(x.shape, x.dtype) for name, x in read.items()}
  return export.export(jax.jit(prepare), platforms=PLATFORMS)(shapes)


def _array(key: Key, shape: tuple[int, ...], tensors: Sequence[jax.Array]) -> jax.Array:
  """Returns one of our arrays, of the tensors that `to_torch` makes of it."""
  before = len(next(places(key, shape))[1])  # axes over which there is a tensor each
  inputs = math.prod(shape[before : before + key.kernel_inputs])
  parts = [x.reshape(-1, inputs).T if key.kernel_inputs else x for x in tensors]
  return jnp.stack([x.reshape(shape[before:]) for x in parts]).reshape(shape).astype(jnp.float32)


def _example(model: ModelParts, specs: Specs, sizes: Mapping[str, int]) -> dict[str, np.ndarray]:
  """Returns random inputs of a shape."""
  rng = np.random.default_rng(0)
  sizes = {"choices": 2, **sizes}
  ends = {"input_ids": model.config.vocab_size, "entity_ids": model.backbone.entities}
  ends |= dict.fromkeys(
    ("entity_position_ids", "entity_start_positions", "entity_end_positions"), sizes["words"]
  )
  inputs = {}
  for name, spec in specs.items():
    shape = tuple(sizes.get(str(x)) or int(x) for x in spec.shape)
    if np.issubdtype(spec.dtype, np.floating):
      inputs[name] = rng.normal(size=shape).astype(spec.dtype)
    else:
      end = ends.get(name, 2 if name.endswith("mask") else 1)
      inputs[name] = rng.integers(end, size=shape).astype(spec.dtype)
    if name.endswith("attention_mask"):
      inputs[name][..., 0] = 1
    if name == "entity_position_ids":
      inputs[name][..., 1::2] = -1  # padding
  return inputs


def _serialized(program: export.Exported) -> bytes:
  try:
    return bytes(program.serialize())
  except ImportError:
    raise not_installed("flatbuffers", "to write a program", "programs") from None


def _deserialized(data: bytes) -> export.Exported:
  try:
    return export.deserialize(bytearray(data))
  except ImportError:
    raise not_installed("flatbuffers", "to read a program", "programs") from None
