"""Makes a dataset from a benchmark's original files: `python -m data.build NAME`."""

import contextlib
import difflib
import importlib
import io
import json
import sys
import tempfile
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import Positional, arg

from luke_jax.cli import script
from luke_jax.cli.task_inputs import report_faults
from luke_jax.errors import InputError
from luke_jax.formats.datasets import library
from luke_jax.formats.files import Faults

BUILDERS = Path(__file__).parent


def main(
  name: Annotated[str, Positional, arg(metavar="NAME")],
  /,
  *,
  manual_dir: Path,
  output: Path = Path("datasets"),
  skip_bad: bool = False,
) -> None:
  """Makes a dataset from a benchmark's original files.

  The README of data/NAME lists those files. Wherever a command takes a file of examples,
  it also takes a split of the dataset, such as datasets/conll2003/1.0.0:train.

      python -m data.build conll2003 --manual-dir ~/conll2003

  Args:
    name: Folder of data/ with a builder.
    manual_dir: Folder with the original files.
    output: Folder for datasets.
    skip_bad: Leaves out examples that are faulty, and counts them.
  """
  builder, faults = _builder(name)(data_dir=output, file_format="array_record"), Faults(skip_bad)
  builder.faults = faults
  for file in builder.SOURCE.files.values():
    if not (manual_dir / file).is_file():
      raise InputError(
        f"{manual_dir / file}: no such file; expected it as data/{name}/README.md says"
      )
  folder = Path(builder.data_dir)
  if folder.exists():
    raise InputError(f"{folder}: exists; expected another --output, or no such folder")
  tfds = library("to build a dataset")
  tfds.disable_progress_bar()
  with tempfile.TemporaryDirectory() as downloads, contextlib.redirect_stdout(io.StringIO()):
    config = tfds.download.DownloadConfig(manual_dir=manual_dir)
    builder.download_and_prepare(download_dir=downloads, download_config=config)
  report_faults(faults)
  splits = {name: split.num_examples for name, split in builder.info.splits.items()}
  print(json.dumps({"folder": str(folder), "examples": splits}))


def _builder(name: str) -> Any:
  """Returns the class of a builder."""
  names = sorted(path.parent.name for path in BUILDERS.glob("*/dummy_data"))
  if name not in names:
    near = difflib.get_close_matches(name, names, n=1)
    hint = f", perhaps {near[0]}" if near else ""
    raise InputError(f"{name!r}: no such dataset; expected one of {', '.join(names)}{hint}")
  library(f"to build {name}")
  module = importlib.import_module(f"data.{name}.{name}")
  return next(value for value in vars(module).values() if hasattr(value, "SOURCE"))


if __name__ == "__main__":
  sys.exit(script(main, "python -m data.build"))
