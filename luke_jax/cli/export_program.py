"""`luke-jax export-program`."""

from typing import Annotated

from tyro.conf import Positional, arg

from luke_jax.cli.printing import stderr_console
from luke_jax.convert.adapters import is_adapter_directory
from luke_jax.convert.programs import write_program
from luke_jax.convert.reading import read
from luke_jax.convert.saving import save
from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.inference.inputs import symbolic_inputs
from luke_jax.runs.models import model_directory


def run(
  source: Annotated[Path, Positional, arg(metavar="MODEL")],
  /,
  *,
  output: Path | None = None,
  backbone: Path | None = None,
) -> None:
  """Writes a model's program beside its weights, for CPUs, NVIDIA GPUs and TPUs.

  The file program.zip holds StableHLO for batches and lengths of any size, in some 30 KB; the
  weights stay in model.safetensors. It is checked against the model before it is in its place. JAX
  reads it for half a year after the version that wrote it: then the same command writes it anew.

      luke-jax export-program runs/ner
      luke-jax export-program english/ner --output served

  Args:
    source: Directory or name of a model, or the folder of a run.
    output: Directory for a copy of the model, which gets the program; by default the model's own.
    backbone: Directory of the backbone of an adapter, if luke-jax get does not know it.
  """
  directory = model_directory(source)
  if output is None and is_adapter_directory(directory):
    raise InputError(f"{source}: an adapter; expected --output DIRECTORY, for the whole model")
  with stderr_console().status(f"exporting {source}"):
    model = read(directory, backbone=backbone).merged
    if output is not None:
      save(model, output)
    file = write_program(model, symbolic_inputs(model), output or directory)
  print(f"{file}: {file.stat().st_size:,} bytes; it computes what the model does in two shapes")
